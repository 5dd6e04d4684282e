/* SPDX-License-Identifier: MIT */
// A framework of the made shared caches: Objective-C classes, a category, and static functions.

@interface NSObject
@end
int sys_add(int a, int b);
int sys_abort(int a);

@interface Gamma : NSObject
- (int)tripleOf:(int)number;
- (int)crashWith:(int)number;
+ (int)sharedNumber;
@end
@interface Delta : Gamma
- (int)tripleOf:(int)number;
@end
@interface Gamma (Extra)
- (int)addedTo:(int)number and:(int)other;
@end

__attribute__((noinline, used)) static int gamma_hidden(int a) { return sys_abort(a) + 1; }

int gamma_entry(int a) { return gamma_hidden(a) * sys_add(a, 4); }

@implementation Gamma
- (int)tripleOf:(int)number {
    return gamma_hidden(number) * 3;
}
- (int)crashWith:(int)number {
    return [self tripleOf:number] + gamma_entry(number) + 1;
}
+ (int)sharedNumber {
    return sys_add(1, 2) + 1;
}
@end
@implementation Delta
- (int)tripleOf:(int)number {
    return gamma_hidden(number) * 33;
}
@end
@implementation Gamma (Extra)
- (int)addedTo:(int)number and:(int)other {
    return gamma_entry(number) + other;
}
@end
