/* SPDX-License-Identifier: MIT */
/* Uses everything of unspool.hpp. Prints what went wrong, if anything. */
#include <unspool/unspool.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <iostream>
#include <mutex>
#include <sstream>
#include <type_traits>
#include <utility>

/* Objects that are used later cannot be made of temporaries, which would end before them. */
template <typename Made, typename... From> constexpr bool is_made_of = std::is_constructible<Made, From...>::value;
template <typename Given, typename = void> constexpr bool can_be_given = false;
template <typename Given>
constexpr bool
    can_be_given<Given, std::void_t<decltype(std::declval<unspool::format &>().with(std::declval<Given>()))>> = true;
static_assert(is_made_of<unspool::symbolizer, const unspool::snapshot &>);
static_assert(is_made_of<unspool::symbolizer, unspool::images &, const usp_symbolizer_options *>);
static_assert(!is_made_of<unspool::symbolizer, unspool::snapshot>);
static_assert(!is_made_of<unspool::symbolizer, const unspool::snapshot>);
static_assert(!is_made_of<unspool::symbolizer, unspool::snapshot, const usp_symbolizer_options *>);
static_assert(!is_made_of<unspool::symbolizer, unspool::images>);
static_assert(!is_made_of<unspool::symbolizer, unspool::images, const usp_symbolizer_options *>);
static_assert(is_made_of<unspool::format, const unspool::symbolizer &>);
static_assert(!is_made_of<unspool::format, unspool::symbolizer>);
static_assert(can_be_given<const unspool::demangler &>);
static_assert(!can_be_given<unspool::demangler>);

static int failures;

static void expect(bool is_right, const char *what, int line) {
    if (is_right) return;
    std::cerr << "interface.cc:" << line << ": " << what << "\n";
    failures++;
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

static bool contains(const std::string &text, const char *word) { return text.find(word) != std::string::npos; }

[[gnu::noinline]] static unspool::stack the_captured_function() {
    unspool::stack stack = unspool::stack::capture();
    EXPECT(stack.size() > 1);
    return stack;
}

static void test_own_stack() {
    const unspool::stack stack = the_captured_function();
    const unspool::symbolizer names;
    const unspool::demangler readable;
    const auto symbol = names.symbolize(stack.call_site(stack[0]));
    EXPECT(symbol && contains(readable(symbol->name), "the_captured_function()"));
    EXPECT(static_cast<std::size_t>(std::distance(stack.begin(), stack.end())) == stack.size());
    EXPECT(std::any_of(stack.begin(), stack.end(), [&](const usp_frame &frame) {
        const auto found = names.lines(stack.call_site(frame));
        return !found.empty() && found.back().function != nullptr && std::strcmp(found.back().function, "main") == 0;
    }));
    EXPECT(std::strlen(stack.stop()) > 0);
    EXPECT(!names.symbolize(1));
    EXPECT(names.lines(1).empty());
    std::ostringstream output;
    output << stack;
    EXPECT(contains(output.str(), "0   ") && contains(output.str(), "the_captured_function() + "));
    EXPECT(!contains(unspool::to_string(stack, unspool::format()), "the_captured_function"));
    EXPECT(contains(unspool::to_string(stack, unspool::format(names, USP_FORMAT_JSON)), "the_captured_function"));
    EXPECT(contains(unspool::name_of(reinterpret_cast<void *>(&test_own_stack)), "test_own_stack"));
    EXPECT(unspool::name_of(reinterpret_cast<void *>(1)).empty());
    const unspool::images images = unspool::images::of_self();
    EXPECT(images.size() > 0 && images.find(stack[0].pc) != nullptr);
    /* Without names: image and offset. */
    const std::string path = images.find(stack[0].pc)->path;
    EXPECT(contains(unspool::to_string(stack, unspool::format()), (path.substr(path.rfind('/') + 1) + " + ").c_str()));
    EXPECT(std::count_if(images.begin(), images.end(),
                         [](const usp_image &i) { return (i.flags & USP_IMAGE_MAIN) != 0; }) == 1);
}

/* A thread that waits in a function of its own. */
class waiting {
  public:
    waiting() : runs([this] { wait(); }) {
        std::unique_lock<std::mutex> held(lock);
        changed.wait(held, [this] { return is_ready; });
    }
    ~waiting() {
        {
            std::lock_guard<std::mutex> held(lock);
            is_over = true;
        }
        changed.notify_all();
        runs.join();
    }
    unspool::thread thread() { return unspool::thread::of(runs); }

  private:
    [[gnu::noinline]] void wait() {
        std::unique_lock<std::mutex> held(lock);
        is_ready = true;
        changed.notify_all();
        changed.wait(held, [this] { return is_over; });
    }

    std::mutex lock;
    std::condition_variable changed;
    bool is_ready = false, is_over = false;
    std::thread runs;
};

static void test_threads() {
    waiting other;
    unspool::thread thread = other.thread();
    EXPECT(thread.id() != unspool::thread::current().id());
    EXPECT(unspool::thread::main().id() == unspool::thread::current().id());
    const unspool::stack stack = unspool::stack::capture(thread);
    std::ostringstream output;
    output << stack;
    EXPECT(contains(output.str(), "waiting::wait() + "));

    const unspool::snapshot snapshot = unspool::snapshot::of_self();
    EXPECT(snapshot.size() == 2 || snapshot.size() == 3); /* an emulator has a thread of its own */
    EXPECT(static_cast<std::size_t>(std::distance(snapshot.begin(), snapshot.end())) == snapshot.size());
    const auto found = std::find_if(snapshot.begin(), snapshot.end(), [&](const usp_snapshot_thread &listed) {
        return listed.info.thread.id == thread.id();
    });
    EXPECT(found != snapshot.end() && found->status == USP_OK);
    const unspool::symbolizer names(snapshot);
    const unspool::frames frames(*found);
    EXPECT(frames.size() > 0);
    EXPECT(std::any_of(frames.begin(), frames.end(), [&](const usp_frame &frame) {
        const auto symbol = names.symbolize(frames.call_site(frame));
        return symbol && contains(symbol->name, "waiting");
    }));
    std::ostringstream all;
    all << snapshot;
    EXPECT(contains(all.str(), "waiting::wait() + ") && contains(all.str(), "Thread "));
    unspool::thread moved = std::move(thread);
    EXPECT(moved.id() != 0 && thread.id() == 0);
}

template <typename Exception, typename Function> static std::string thrown_by(Function function) {
    try {
        function();
    } catch (const Exception &exception) {
        return exception.what();
    }
    return "nothing";
}

static void test_errors() {
    EXPECT(contains(thrown_by<unspool::error>([] { unspool::snapshot::open_core("/nowhere/core"); }), "/nowhere/core"));
    EXPECT(contains(thrown_by<unspool::error>([] { unspool::images::open("/nowhere/file"); }), "/nowhere/file"));
    try {
        unspool::snapshot::of_process(-5);
        EXPECT(false);
    } catch (const unspool::error &error) {
        EXPECT(error.status() < 0);
    }
    EXPECT(unspool::error(USP_ERROR_BUSY).what() == std::string(usp_status_string(USP_ERROR_BUSY)));

    const unspool::symbolizer names;
    const auto own = static_cast<usp_addr>(reinterpret_cast<std::uintptr_t>(&test_errors));
    unsigned visited = 0;
    EXPECT(thrown_by<std::out_of_range>([&] {
               names.visit(own, [&](const usp_symbol &) -> int {
                   if (++visited == 3) throw std::out_of_range("the third");
                   return 0;
               });
           }) == "the third");
    EXPECT(visited == 3);
    bool is_found = false;
    names.visit(own, [&](const usp_symbol &symbol) {
        is_found = is_found || contains(symbol.name, "test_errors");
        return 0;
    });
    EXPECT(is_found);
    const unspool::stack stack = unspool::stack::capture();
    EXPECT(thrown_by<std::logic_error>([&] {
               unspool::write(stack, unspool::format(names),
                              [](const char *, std::size_t) -> int { throw std::logic_error("no room"); });
           }) == "no room");
    EXPECT(contains(thrown_by<unspool::error>([&] {
                        unspool::write(stack, unspool::format(names),
                                       [](const char *, std::size_t) { return USP_ERROR_FULL; });
                    }),
                    usp_status_string(USP_ERROR_FULL)));
}

/* What was moved from is empty, and can be read and written to. */
static void test_moved_from() {
    unspool::stack stack = unspool::stack::capture();
    unspool::snapshot snapshot = unspool::snapshot::of_self();
    unspool::images images = unspool::images::of_self();
    const unspool::stack taken = std::move(stack);
    const unspool::snapshot taken_snapshot = std::move(snapshot);
    const unspool::images taken_images = std::move(images);
    EXPECT(taken.size() > 0 && stack.size() == 0 && stack.begin() == stack.end());
    EXPECT(taken_snapshot.size() > 0 && snapshot.size() == 0 && snapshot.begin() == snapshot.end());
    EXPECT(taken_images.size() > 0 && images.size() == 0 && images.begin() == images.end());
    EXPECT(std::string(stack.stop()) != "" && snapshot.info().pid == 0);
    EXPECT(thrown_by<unspool::error>([&] { unspool::to_string(stack, unspool::format()); }) != "nothing");
    EXPECT(thrown_by<unspool::error>([&] { unspool::to_string(snapshot, unspool::format()); }) != "nothing");
    stack = unspool::stack::capture();
    EXPECT(stack.size() > 0);
}

int main() {
    test_own_stack();
    test_threads();
    test_errors();
    test_moved_from();
    return failures != 0;
}
