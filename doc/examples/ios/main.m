/* SPDX-License-Identifier: MIT */
/* The test app: runs the checks of checklist.c on a background thread and shows their lines. doc/apple.md says how to
 * build it. */
#import <UIKit/UIKit.h>

#include "checklist.h"

@interface Application : UIResponder <UIApplicationDelegate>
@property(nonatomic, strong) UIWindow *window;
@end

static void add_line(void *context, const char *line) {
    NSLog(@"%s", line);
    [(__bridge NSMutableString *)context appendFormat:@"%s\n", line];
}

@implementation Application

- (BOOL)application:(UIApplication *)application didFinishLaunchingWithOptions:(NSDictionary *)options {
    UITextView *text = [[UITextView alloc] initWithFrame:CGRectZero];
    UIViewController *controller = [[UIViewController alloc] init];

    text.editable = NO;
    text.font = [UIFont monospacedSystemFontOfSize:11 weight:UIFontWeightRegular];
    text.text = @"…";
    controller.view = text;
    self.window = [[UIWindow alloc] initWithFrame:UIScreen.mainScreen.bounds];
    self.window.rootViewController = controller;
    [self.window makeKeyAndVisible];

    /* The checks capture the main thread while it waits in its run loop. */
    dispatch_async(dispatch_get_global_queue(QOS_CLASS_USER_INITIATED, 0), ^{
      NSMutableString *lines = [NSMutableString string];
      int failed = checklist_run(add_line, (__bridge void *)lines);
      [lines appendFormat:@"%d failed\n", failed];
      dispatch_async(dispatch_get_main_queue(), ^{ text.text = lines; });
    });
    return YES;
}

@end

int main(int argc, char *argv[]) {
    @autoreleasepool {
        return UIApplicationMain(argc, argv, nil, NSStringFromClass([Application class]));
    }
}
