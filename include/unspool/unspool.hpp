/* SPDX-License-Identifier: MIT */
/* The C++17 interface: owning types, ranges and exceptions over the C functions. Nothing is compiled into the library.
 * The types of frames, threads and images are those of the C headers, whose contracts hold.
 *
 * An object that was moved from is empty: it has no frames, threads or images, and functions that need what it had throw
 * an error. A symbolizer that was moved from has the names of this process. */
#ifndef UNSPOOL_UNSPOOL_HPP
#define UNSPOOL_UNSPOOL_HPP

#include <unspool/unspool.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace unspool {

/* A function of the library failed. what() is the library's sentence. */
class error : public std::runtime_error {
  public:
    explicit error(int status, const char *sentence = "")
        : std::runtime_error(*sentence != '\0' ? sentence : usp_status_string(status)), number(status) {}

    int status() const noexcept { return number; } /* enum usp_status */

  private:
    int number;
};

namespace detail {

inline void check(int status, const char *sentence = "") {
    if (status < 0) throw error(status, sentence);
}

/* A pthread_t, which is a pointer or a number, as a number. */
template <typename Handle> std::uintptr_t number_of(Handle handle) noexcept {
    if constexpr (std::is_pointer_v<Handle>) {
        return reinterpret_cast<std::uintptr_t>(handle);
    } else {
        return handle;
    }
}

/* Frees an object with a function of the library. */
template <auto Free> struct freed_by {
    template <typename T> void operator()(T *object) const noexcept { Free(object); }
};
template <typename T, auto Free> using owned = std::unique_ptr<T, freed_by<Free>>;

/* Iterates over what a function returns for a container and an index, by reference. */
template <typename Container, typename Element, Element *(*Get)(const Container *, std::size_t)> class iterator {
  public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::remove_const_t<Element>;
    using difference_type = std::ptrdiff_t;
    using pointer = Element *;
    using reference = Element &;

    iterator() = default;
    iterator(const Container *of, std::size_t index) : container(of), i(index) {}

    reference operator*() const { return *Get(container, i); }
    pointer operator->() const { return Get(container, i); }
    iterator &operator++() {
        i++;
        return *this;
    }
    iterator operator++(int) {
        iterator before = *this;
        i++;
        return before;
    }
    friend bool operator==(const iterator &a, const iterator &b) { return a.container == b.container && a.i == b.i; }
    friend bool operator!=(const iterator &a, const iterator &b) { return !(a == b); }

  private:
    const Container *container = nullptr;
    std::size_t i = 0;
};

/* A function of the caller for a callback of the library. An exception must not pass through C: it ends the visit, and
 * is thrown again when the library's function has returned. */
template <typename Function> struct guarded {
    Function &function;
    std::exception_ptr thrown;

    template <typename... Arguments> int call(Arguments &&...arguments) noexcept {
        try {
            return function(std::forward<Arguments>(arguments)...);
        } catch (...) {
            thrown = std::current_exception();
            return USP_ERROR_SYSTEM;
        }
    }
    void check(int status) const {
        if (thrown) std::rethrow_exception(thrown);
        detail::check(status);
    }
};

template <typename Function> int write_by(void *context, const char *bytes, std::size_t n) {
    return static_cast<guarded<Function> *>(context)->call(bytes, n);
}

} // namespace detail

/* A thread of this process. */
class thread {
  public:
    static thread current() { return get(usp_thread_self); }
    static thread main() { return get(usp_thread_main); }
    /* Of a running thread. */
    static thread of(std::thread &running) {
        return get(
            [&](usp_thread *raw) { return usp_thread_from_pthread(detail::number_of(running.native_handle()), raw); });
    }
    thread(thread &&other) noexcept : raw(std::exchange(other.raw, usp_thread{})) {}
    thread &operator=(thread &&other) noexcept {
        std::swap(raw, other.raw);
        return *this;
    }
    ~thread() { usp_thread_release(&raw); }

    std::uint64_t id() const noexcept { return raw.id; }
    const usp_thread *get() const noexcept { return &raw; }

  private:
    thread() = default;
    template <typename Function> static thread get(Function function) {
        thread made;
        detail::check(function(&made.raw));
        return made;
    }

    usp_thread raw{};
};

/* A captured stack of any depth: a range of frames, innermost first. */
class stack {
  public:
    /* Captures the calling thread. The first frame lies in the function that calls this one. */
    [[gnu::always_inline]] static inline stack capture(const usp_unwind_options *options = nullptr) {
        usp_stack *made;
        detail::check(usp_stack_create(nullptr, options, &made));
        return stack(made);
    }
    /* Captures another thread, which is stopped only while its stack is copied. */
    static stack capture(const thread &of, const usp_unwind_options *options = nullptr) {
        usp_stack *made;
        detail::check(usp_stack_create(of.get(), options, &made));
        return stack(made);
    }

    const usp_frame *begin() const noexcept { return captured().frames; }
    const usp_frame *end() const noexcept { return captured().frames + size(); }
    std::size_t size() const noexcept { return captured().count; }
    const usp_frame &operator[](std::size_t i) const noexcept { return captured().frames[i]; }
    /* The address to look up for a frame. */
    usp_addr call_site(const usp_frame &frame) const noexcept { return usp_frame_call_site(captured().arch, &frame); }
    /* Why it ends, in words. */
    const char *stop() const noexcept { return usp_stop_reason_string(captured().stop); }
    const usp_stack *get() const noexcept { return raw.get(); }

  private:
    explicit stack(usp_stack *made) : raw(made) {}
    const usp_stack &captured() const noexcept {
        static const usp_stack none{};
        return raw ? *raw : none;
    }

    detail::owned<usp_stack, usp_stack_free> raw;
};

/* A list of images: a range of usp_image. */
class images {
  public:
    using iterator = detail::iterator<usp_images, const usp_image, usp_images_get>;

    static images of_self() {
        usp_images *made;
        detail::check(usp_images_create_self(&made));
        return images(made);
    }
    /* Reads an executable, library or dSYM. */
    static images open(const std::string &path, const usp_image_file_options *options = nullptr) {
        usp_images *made;
        char sentence[512] = "";
        detail::check(usp_images_open(path.c_str(), options, &made, sentence, sizeof sentence), sentence);
        return images(made);
    }

    iterator begin() const noexcept { return iterator(raw.get(), 0); }
    iterator end() const noexcept { return iterator(raw.get(), size()); }
    std::size_t size() const noexcept { return usp_images_count(raw.get()); }
    const usp_image *find(usp_addr address) const noexcept { return usp_images_find(raw.get(), address); }
    const usp_images *get() const noexcept { return raw.get(); }

  private:
    explicit images(usp_images *made) : raw(made) {}

    detail::owned<usp_images, usp_images_free> raw;
};

/* All threads at one moment: a range of usp_snapshot_thread. */
class snapshot {
  public:
    using iterator = detail::iterator<usp_snapshot, const usp_snapshot_thread, usp_snapshot_get_thread>;

    static snapshot of_self(const usp_snapshot_options *options = nullptr) {
        usp_snapshot *made;
        detail::check(usp_snapshot_create_self(options, &made));
        return snapshot(made);
    }
    static snapshot of_process(std::int64_t pid, const usp_snapshot_options *options = nullptr) {
        usp_snapshot *made;
        char sentence[512] = "";
        detail::check(usp_snapshot_create_process(pid, options, &made, sentence, sizeof sentence), sentence);
        return snapshot(made);
    }
    static snapshot open_core(const std::string &path, const usp_snapshot_options *options = nullptr) {
        usp_snapshot *made;
        char sentence[512] = "";
        detail::check(usp_snapshot_open_core(path.c_str(), options, &made, sentence, sizeof sentence), sentence);
        return snapshot(made);
    }

    iterator begin() const noexcept { return iterator(raw.get(), 0); }
    iterator end() const noexcept { return iterator(raw.get(), size()); }
    std::size_t size() const noexcept { return info().thread_count; }
    const usp_snapshot_info &info() const noexcept {
        static const usp_snapshot_info none{};
        return raw ? *usp_snapshot_get_info(raw.get()) : none;
    }
    const usp_snapshot *get() const noexcept { return raw.get(); }

  private:
    explicit snapshot(usp_snapshot *made) : raw(made) {}

    detail::owned<usp_snapshot, usp_snapshot_free> raw;
};

/* The frames of a thread of a snapshot, or of any usp_stack. */
class frames {
  public:
    frames(const usp_stack &of) noexcept : raw(&of) {}
    frames(const usp_snapshot_thread &of) noexcept : raw(&of.stack) {}

    const usp_frame *begin() const noexcept { return raw->frames; }
    const usp_frame *end() const noexcept { return raw->frames + raw->count; }
    std::size_t size() const noexcept { return raw->count; }
    usp_addr call_site(const usp_frame &frame) const noexcept { return usp_frame_call_site(raw->arch, &frame); }

  private:
    const usp_stack *raw;
};

/* Symbolicates addresses. Its names are valid as long as it is. Threads may share it. */
class symbolizer {
  public:
    /* For this process as it is at each call. */
    explicit symbolizer(const usp_symbolizer_options *options = nullptr)
        : symbolizer(static_cast<usp_images *>(nullptr), options) {}
    /* For a list of images, or a snapshot; it must outlive the symbolizer. */
    explicit symbolizer(const images &of, const usp_symbolizer_options *options = nullptr)
        : symbolizer(of.get(), options) {}
    explicit symbolizer(const snapshot &of, const usp_symbolizer_options *options = nullptr) {
        usp_symbolizer *made;
        detail::check(usp_symbolizer_create_for_snapshot(of.get(), options, &made));
        raw.reset(made);
    }
    /* A temporary would end before the symbolizer. */
    explicit symbolizer(const images &&of, const usp_symbolizer_options *options = nullptr) = delete;
    explicit symbolizer(const snapshot &&of, const usp_symbolizer_options *options = nullptr) = delete;

    /* The function that holds an address; nothing when no symbol does. */
    std::optional<usp_symbol> symbolize(usp_addr address) const {
        usp_symbol symbol;
        int status = usp_symbolize(raw.get(), address, &symbol);
        if (status == USP_ERROR_NOT_FOUND) return std::nullopt;
        detail::check(status);
        return symbol;
    }
    /* The functions at an address, innermost inlined call first. For a frame pass its call site. */
    std::vector<usp_source_frame> lines(usp_addr address) const {
        std::vector<usp_source_frame> found(8);
        for (;;) {
            usp_lines lines;
            usp_lines_init(&lines, found.data(), static_cast<std::uint32_t>(found.size()));
            lines.flags = USP_LINES_FILL;
            int status = usp_symbolize_lines(raw.get(), address, &lines);
            if (status == USP_ERROR_NOT_FOUND) return {};
            detail::check(status);
            const bool fits = lines.count <= found.size();
            found.resize(lines.count);
            if (fits) return found;
        }
    }
    /* Calls int visit(const usp_symbol &) for each function of the image that holds an address, until it returns
     * something other than 0. Exceptions of `visit` are passed on. */
    template <typename Function> void visit(usp_addr address, Function &&visit) const {
        auto call = [&](const usp_symbol *symbol) { return static_cast<int>(visit(*symbol)); };
        detail::guarded<decltype(call)> guarded{call, nullptr};
        guarded.check(usp_symbolizer_visit(raw.get(), address, visit_by<decltype(call)>, &guarded));
    }
    usp_symbolizer *get() const noexcept { return raw.get(); }

  private:
    symbolizer(const usp_images *of, const usp_symbolizer_options *options) {
        usp_symbolizer *made;
        detail::check(usp_symbolizer_create(of, options, &made));
        raw.reset(made);
    }
    template <typename Function> static int visit_by(void *context, const usp_symbol *symbol) {
        return static_cast<detail::guarded<Function> *>(context)->call(symbol);
    }

    detail::owned<usp_symbolizer, usp_symbolizer_free> raw;
};

/* Demangles names. What it returns is valid as long as it is. */
class demangler {
  public:
    explicit demangler(std::uint32_t mode = USP_DEMANGLE_FULL) {
        usp_demangler *made;
        detail::check(usp_demangler_create(mode, &made));
        raw.reset(made);
    }

    const char *operator()(const char *name) const noexcept { return usp_demangle(raw.get(), name); }
    usp_demangler *get() const noexcept { return raw.get(); }

  private:
    detail::owned<usp_demangler, usp_demangler_free> raw;
};

/* How stacks and snapshots are written: usp_format_options with the defaults. Without names, frames are image and
 * offset. What it is given must outlive it. */
struct format : usp_format_options {
    explicit format(std::uint32_t style_of_text = USP_FORMAT_CALL_STACK_SYMBOLS) { init(style_of_text); }
    explicit format(const unspool::symbolizer &names, std::uint32_t style_of_text = USP_FORMAT_CALL_STACK_SYMBOLS) {
        init(style_of_text);
        symbolizer = names.get();
        flags = USP_FORMAT_LINES;
    }
    format &with(const unspool::demangler &readable) {
        demangler = readable.get();
        return *this;
    }
    /* Temporaries would end before it. */
    explicit format(const unspool::symbolizer &&names,
                    std::uint32_t style_of_text = USP_FORMAT_CALL_STACK_SYMBOLS) = delete;
    format &with(const unspool::demangler &&readable) = delete;

  private:
    void init(std::uint32_t style_of_text) {
        usp_format_options_init(this);
        style = style_of_text;
    }
};

/* Writes by int write(const char *bytes, std::size_t n), which returns 0 or a negative status. Exceptions of `write` are
 * passed on. */
template <typename Function> void write(const stack &written, const format &how, Function &&write) {
    auto call = [&](const char *bytes, std::size_t n) { return static_cast<int>(write(bytes, n)); };
    detail::guarded<decltype(call)> guarded{call, nullptr};
    format complete = how;
    std::optional<images> own;
    /* A snapshot has its images, a stack is of this process. */
    if (how.symbolizer == nullptr && how.images == nullptr) complete.images = own.emplace(images::of_self()).get();
    guarded.check(usp_format_stack(written.get(), nullptr, &complete, detail::write_by<decltype(call)>, &guarded));
}
template <typename Function> void write(const snapshot &written, const format &how, Function &&write) {
    auto call = [&](const char *bytes, std::size_t n) { return static_cast<int>(write(bytes, n)); };
    detail::guarded<decltype(call)> guarded{call, nullptr};
    guarded.check(usp_format_snapshot(written.get(), &how, detail::write_by<decltype(call)>, &guarded));
}

template <typename Written> std::string to_string(const Written &written, const format &how) {
    std::string text;
    write(written, how, [&](const char *bytes, std::size_t n) {
        text.append(bytes, n);
        return 0;
    });
    return text;
}

/* Writes a stack or a snapshot as text with the names of this process. */
inline std::ostream &operator<<(std::ostream &output, const stack &written) {
    const demangler readable;
    const symbolizer names;
    return output << to_string(written, format(names).with(readable));
}
inline std::ostream &operator<<(std::ostream &output, const snapshot &written) {
    const demangler readable;
    const symbolizer names(written);
    return output << to_string(written, format(names).with(readable));
}

/* The readable name of the function of this process that holds an address; "" when there is none. */
inline std::string name_of(const void *address) {
    const char *name = usp_address_name(address);
    return name != nullptr ? name : "";
}

} // namespace unspool

#endif
