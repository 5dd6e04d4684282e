/* SPDX-License-Identifier: MIT */
/* Classes, categories, properties and blocks for tests/symbolize/objc.sh. Compiled without an SDK, linked and never
 * run: only the metadata and the functions' addresses matter. No two functions are equal, so that none are folded. */
typedef struct objc_object *id;
typedef struct objc_class *Class;
typedef struct objc_selector *SEL;

__attribute__((objc_root_class))
@interface Root {
    Class isa;
}
@property int size;
+ (id)make;
- (int)number;
- (int)add:(int)a to:(int)b;
@end

@interface Leaf : Root
+ (int)count;
@end

@interface Leaf (Extra)
- (int)extra;
+ (int)extraClass;
@end

/* A class of another image. */
@interface Foreign : Root
@end

@interface Foreign (Ours)
- (int)ours:(int)x;
+ (int)oursClass;
@end

@protocol Shape
- (int)area;
@optional
+ (int)corners;
@end

@interface Square : Leaf <Shape>
@end

/* Neither a method nor exported: stripping removes its name, and it must not get the name of the method before it. */
__attribute__((noinline)) static int hidden_function(int x) { return x * 3; }

@implementation Root
@synthesize size;
+ (id)make {
    return 0;
}
+ (void)load {
}
- (int)number {
    return 1;
}
- (int)add:(int)a to:(int)b {
    int (^block)(int) = ^(int c) { return hidden_function(c) + a + b; };
    return block(3) + hidden_function(a);
}
@end

__attribute__((noinline)) static int between(int x) { return hidden_function(x) * 5; }

@implementation Leaf
- (int)number {
    return 2;
}
+ (int)count {
    return between(3);
}
@end

@implementation Leaf (Extra)
- (int)extra {
    return 4;
}
+ (int)extraClass {
    return 5;
}
+ (void)load {
    between(4);
}
@end

@implementation Foreign (Ours)
- (int)ours:(int)x {
    return x ^ 6;
}
+ (int)oursClass {
    return 7;
}
@end

@implementation Square
- (int)area {
    return self.size * self.size;
}
+ (int)corners {
    return 8;
}
- (int):(int)a:(int)b {
    return a - b;
}
@end

int plain(int x);
int plain(int x) { return between(x) + 9; }
