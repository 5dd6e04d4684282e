// SPDX-License-Identifier: MIT
// Written from the public headers by bindings/rust/declarations.pl. The headers have the contracts.

pub type usp_addr = u64;
pub type usp_build_function = Option<unsafe extern "C" fn(context: *mut c_void, place: *const usp_place, sources: *mut usp_build_sources) -> c_int>;
pub type usp_build_note_function = Option<unsafe extern "C" fn(context: *mut c_void, note: u32, place: *const usp_place, text: *const c_char)>;
pub type usp_dyld_caches_note = Option<unsafe extern "C" fn(context: *mut c_void, text: *const c_char)>;
pub type usp_index_progress = Option<unsafe extern "C" fn(context: *mut c_void, done: u64, all: u64) -> c_int>;
pub type usp_name_visitor = Option<unsafe extern "C" fn(context: *mut c_void, name: *const c_char) -> c_int>;
pub type usp_place_function = Option<unsafe extern "C" fn(context: *mut c_void, place: *const usp_place, answer: *mut usp_answer) -> c_int>;
pub type usp_read_function = Option<unsafe extern "C" fn(context: *mut c_void, bytes: *mut c_char, size: usize, n: *mut usize) -> c_int>;
pub type usp_source_visitor = Option<unsafe extern "C" fn(context: *mut c_void, i: u32, frame: *const usp_source_frame) -> c_int>;
pub type usp_symbol_visitor = Option<unsafe extern "C" fn(context: *mut c_void, symbol: *const usp_symbol) -> c_int>;
pub type usp_write_function = Option<unsafe extern "C" fn(context: *mut c_void, bytes: *const c_char, n: usize) -> c_int>;

pub const USP_VERSION_MAJOR: u32 = 0;
pub const USP_VERSION_MINOR: u32 = 9;
pub const USP_VERSION_PATCH: u32 = 0;
pub const USP_ARCH_NONE: u32 = 0;
pub const USP_ARCH_ARM64: u32 = 1;
pub const USP_ARCH_ARM64_32: u32 = 2;
pub const USP_ARCH_ARMV7: u32 = 3;
pub const USP_ARCH_X86_64: u32 = 4;
pub const USP_ARCH_I386: u32 = 5;
pub const USP_VARIANT_NONE: u32 = 0;
pub const USP_VARIANT_PLAIN: u32 = 1;
pub const USP_VARIANT_ARM64E: u32 = 2;
pub const USP_VARIANT_ARMV7S: u32 = 3;
pub const USP_VARIANT_ARMV7K: u32 = 4;
pub const USP_VARIANT_X86_64H: u32 = 5;
pub const USP_OK: c_int = 0;
pub const USP_ERROR_ARGUMENT: c_int = -1;
pub const USP_ERROR_UNREADABLE: c_int = -2;
pub const USP_ERROR_ABSENT: c_int = -3;
pub const USP_ERROR_NO_MEMORY: c_int = -4;
pub const USP_ERROR_UNSUPPORTED: c_int = -5;
pub const USP_ERROR_NOT_PREPARED: c_int = -6;
pub const USP_ERROR_NO_THREAD: c_int = -7;
pub const USP_ERROR_TIMEOUT: c_int = -8;
pub const USP_ERROR_PERMISSION: c_int = -9;
pub const USP_ERROR_SYSTEM: c_int = -10;
pub const USP_ERROR_FORMAT: c_int = -11;
pub const USP_ERROR_TRUNCATED: c_int = -12;
pub const USP_ERROR_MISMATCH: c_int = -13;
pub const USP_ERROR_NOT_FOUND: c_int = -14;
pub const USP_ERROR_BUSY: c_int = -15;
pub const USP_ERROR_FULL: c_int = -16;
pub const USP_ERROR_STACK_FULL: c_int = -17;
pub const USP_THREAD_MAIN: u32 = 1 << 0;
pub const USP_THREAD_REQUESTER: u32 = 1 << 1;
pub const USP_THREAD_NOT_STOPPED: u32 = 1 << 2;
pub const USP_THREAD_KERNEL: u32 = 1 << 3;
pub const USP_THREAD_CRASHED: u32 = 1 << 4;
pub const USP_THREAD_GOROUTINE: u32 = 1 << 5;
pub const USP_LOCK_NONE: u32 = 0;
pub const USP_LOCK_MUTEX: u32 = 1;
pub const USP_LOCK_READ_WRITE: u32 = 2;
pub const USP_CRASH_CALLBACK_SIZE: u32 = 4096;
pub const USP_CRASH_NO_RUN: u32 = 0;
pub const USP_CRASH_ENDED: u32 = 1;
pub const USP_CRASH_CRASHED: u32 = 2;
pub const USP_CRASH_UPDATED: u32 = 3;
pub const USP_CRASH_RESTARTED: u32 = 4;
pub const USP_CRASH_OUT_OF_MEMORY: u32 = 5;
pub const USP_CRASH_EXECUTED: u32 = 6;
pub const USP_CRASH_UNEXPLAINED: u32 = 7;
pub const USP_DEMANGLE_NO: u32 = 0;
pub const USP_DEMANGLE_SIMPLE: u32 = 1;
pub const USP_DEMANGLE_FULL: u32 = 2;
pub const USP_DEMANGLE_SHORT: u32 = 3;
pub const USP_MANGLING_NONE: u32 = 0;
pub const USP_MANGLING_CXX: u32 = 1;
pub const USP_MANGLING_RUST_LEGACY: u32 = 2;
pub const USP_MANGLING_RUST_V0: u32 = 3;
pub const USP_MANGLING_SWIFT: u32 = 4;
pub const USP_MANGLING_KOTLIN: u32 = 5;
pub const USP_DYLD_STUBS: u32 = 1 << 0;
pub const USP_FILTER_APP: u32 = 1 << 0;
pub const USP_FILTER_NO_SYSTEM: u32 = 1 << 1;
pub const USP_FORMAT_CALL_STACK_SYMBOLS: u32 = 1;
pub const USP_FORMAT_PLAIN: u32 = 2;
pub const USP_FORMAT_BACKTRACE_SYMBOLS: u32 = 3;
pub const USP_FORMAT_BS_BACKTRACE: u32 = 4;
pub const USP_FORMAT_CRASH_REPORT: u32 = 5;
pub const USP_FORMAT_PORTABLE: u32 = 6;
pub const USP_FORMAT_JSON: u32 = 7;
pub const USP_FORMAT_FOLDED: u32 = 8;
pub const USP_FORMAT_IPS: u32 = 9;
pub const USP_FORMAT_SENTRY: u32 = 10;
pub const USP_ESCAPE_TERMINAL: u32 = 1;
pub const USP_ESCAPE_JSON: u32 = 2;
pub const USP_ESCAPE_FOLDED: u32 = 3;
pub const USP_FORMAT_LINES: u32 = 1 << 0;
pub const USP_FORMAT_FULL_PATHS: u32 = 1 << 1;
pub const USP_FORMAT_COLUMNS: u32 = 1 << 2;
pub const USP_BUILD_ID_MAX: u32 = 32;
pub const USP_IMAGE_MAIN: u32 = 1 << 0;
pub const USP_IMAGE_KERNEL: u32 = 1 << 1;
pub const USP_IMAGE_DELETED: u32 = 1 << 2;
pub const USP_IMAGE_MACHO: u32 = 1 << 3;
pub const USP_IMAGE_LOADER: u32 = 1 << 4;
pub const USP_IMAGE_PERMANENT: u32 = 1 << 5;
pub const USP_IMAGE_TEXT_OFFSET: u32 = 1 << 6;
pub const USP_IMAGE_FILE_LOADED: u32 = 1 << 0;
pub const USP_IMAGE_FILE_LINKED: u32 = 1 << 1;
pub const USP_IMAGE_FILE_NAMED: u32 = 1 << 2;
pub const USP_LINE_NONE: u32 = 0;
pub const USP_LINE_TABLE: u32 = 1;
pub const USP_LINE_CALL: u32 = 2;
pub const USP_LINE_DECLARATION: u32 = 3;
pub const USP_SOURCE_INLINED: u32 = 1 << 0;
pub const USP_SOURCE_LINE_FILLED: u32 = 1 << 1;
pub const USP_SOURCE_FOLDED: u32 = 1 << 2;
pub const USP_SOURCE_COLD: u32 = 1 << 3;
pub const USP_SOURCE_INFERRED: u32 = 1 << 4;
pub const USP_SOURCE_FROM_INDEX: u32 = 1 << 5;
pub const USP_LINES_FILL: u32 = 1 << 0;
pub const USP_INDEX_KEEP: u32 = 1 << 0;
pub const USP_INDEX_CHECK: u32 = 1 << 1;
pub const USP_HANG_ONGOING: u32 = 0;
pub const USP_HANG_RECOVERED: u32 = 1;
pub const USP_HANG_KILLED: u32 = 2;
pub const USP_HANG_ABANDONED: u32 = 3;
pub const USP_HANG_SEVERE: u32 = 1 << 0;
pub const USP_HANG_LINES: u32 = 1 << 0;
pub const USP_HANG_BRIEF: u32 = 1 << 1;
pub const USP_HANG_TEXT: u32 = 0;
pub const USP_HANG_JSON: u32 = 1;
pub const USP_MONITOR_WHILE_TRACED: u32 = 1 << 0;
pub const USP_MONITOR_QUEUE: u32 = 1 << 1;
pub const USP_BUILD_SOURCES: u32 = 4;
pub const USP_ANSWER_FRAMES: u32 = 64;
pub const USP_PLACE_LOAD: u32 = 0;
pub const USP_PLACE_LINKED: u32 = 1;
pub const USP_PLACE_FILE: u32 = 2;
pub const USP_PLACE_TEXT: u32 = 3;
pub const USP_PLACE_EXACT: u32 = 1 << 0;
pub const USP_PLACE_GUESS: u32 = 1 << 1;
pub const USP_PLACE_NAMED: u32 = 1 << 2;
pub const USP_PLACE_NAME_OFFSET: u32 = 1 << 3;
pub const USP_PLACE_FILL: u32 = 1 << 4;
pub const USP_ANSWER_NO_FILE: u32 = 1 << 0;
pub const USP_ANSWER_TRAMPOLINE: u32 = 1 << 1;
pub const USP_ANSWER_LINE: u32 = 1 << 2;
pub const USP_ANSWER_NAME_HOLDS: u32 = 1 << 3;
pub const USP_BUILD_LAYOUT: u32 = 1 << 0;
pub const USP_BUILD_COMPLETE: u32 = 1 << 1;
pub const USP_BUILD_NOTE_DAMAGED: u32 = 1;
pub const USP_BUILD_NOTE_LAYOUT: u32 = 2;
pub const USP_PROFILE_FIXED: u32 = 1 << 0;
pub const USP_PROFILE_ROLLING: u32 = 1 << 1;
pub const USP_PROFILE_TOTALS: u32 = 1 << 2;
pub const USP_PROFILE_SAMPLES: u32 = 0;
pub const USP_PROFILE_WALL: u32 = 1;
pub const USP_PROFILE_CPU: u32 = 2;
pub const USP_PROFILE_TREE: u32 = 1;
pub const USP_PROFILE_FOLDED: u32 = 2;
pub const USP_PROFILE_PPROF: u32 = 3;
pub const USP_PROFILE_SPEEDSCOPE: u32 = 4;
pub const USP_PROFILE_FIREFOX: u32 = 5;
pub const USP_PROFILE_JSON: u32 = 6;
pub const USP_PROFILE_SVG: u32 = 7;
pub const USP_PROFILE_OTLP: u32 = 8;
pub const USP_PROFILE_MERGE_THREADS: u32 = 1 << 0;
pub const USP_PROFILE_NATIVE_IDS: u32 = 1 << 1;
pub const USP_PROFILE_LINES: u32 = 1 << 2;
pub const USP_PROFILE_FILE_PPROF: u32 = 1;
pub const USP_PROFILE_FILE_OTLP: u32 = 2;
pub const USP_PROFILE_FILE_UNSPOOL: u32 = 3;
pub const USP_RECORDING_SAMPLE_CPU: u32 = 1 << 0;
pub const USP_RECORDING_SAMPLE_SUMMED: u32 = 1 << 1;
pub const USP_REGISTERS_MAX: u32 = 48;
pub const USP_THREAD_STATE_LINUX_PRSTATUS: u32 = 1;
pub const USP_THREAD_STATE_LINUX_UCONTEXT: u32 = 2;
pub const USP_THREAD_STATE_LINUX_SIGCONTEXT: u32 = 3;
pub const USP_THREAD_STATE_DARWIN_MCONTEXT: u32 = 4;
pub const USP_THREAD_STATE_MACH: u32 = 0x100;
pub const USP_READER_RECORD: u32 = 1 << 0;
pub const USP_READER_IMAGES: u32 = 1 << 1;
pub const USP_READER_NAMED: u32 = 1 << 2;
pub const USP_REPORT_TEXT: u32 = 1;
pub const USP_REPORT_JSON: u32 = 2;
pub const USP_REPORT_HTML: u32 = 3;
pub const USP_REPORT_CRASHED: u32 = 1 << 0;
pub const USP_REPORT_THREAD: u32 = 1 << 1;
pub const USP_REPORT_APP: u32 = 1 << 2;
pub const USP_SAMPLER_MAIN: u32 = 0;
pub const USP_SAMPLER_ALL: u32 = 1;
pub const USP_SAMPLER_GIVEN: u32 = 2;
pub const USP_SAMPLER_NAMED: u32 = 3;
pub const USP_SAMPLER_KEEP: u32 = 1 << 0;
pub const USP_SAMPLER_ASYNC: u32 = 1 << 1;
pub const USP_SNAPSHOT_BY_SIGNALS: u32 = 0;
pub const USP_SNAPSHOT_BY_HELPER: u32 = 1;
pub const USP_SNAPSHOT_PROGRAM_MISSING: u32 = 1 << 0;
pub const USP_SNAPSHOT_FILES_MISSING: u32 = 1 << 1;
pub const USP_SNAPSHOT_FILES_REFUSED: u32 = 1 << 2;
pub const USP_SNAPSHOT_TRUNCATED: u32 = 1 << 3;
pub const USP_SNAPSHOT_FAULT: u32 = 1 << 4;
pub const USP_NOTE_VALUE: u32 = 1;
pub const USP_NOTE_BREADCRUMB: u32 = 2;
pub const USP_NOTE_CALLBACK: u32 = 3;
pub const USP_NOTE_RECORDER: u32 = 4;
pub const USP_NOTE_MESSAGE: u32 = 5;
pub const USP_STACK_IDENTITY_SIZE: u32 = 16;
pub const USP_STRATEGY_NONE: u32 = 0;
pub const USP_STRATEGY_DLADDR: u32 = 1;
pub const USP_STRATEGY_SYMTAB: u32 = 2;
pub const USP_STRATEGY_OBJC_RUNTIME: u32 = 3;
pub const USP_STRATEGY_OBJC_METADATA: u32 = 4;
pub const USP_STRATEGY_DEBUG_INFO: u32 = 5;
pub const USP_STRATEGY_PERF_MAP: u32 = 6;
pub const USP_STRATEGY_JITDUMP: u32 = 7;
pub const USP_STRATEGY_GDB_JIT: u32 = 8;
pub const USP_TASKS_CUT: u32 = 1 << 0;
pub const USP_TASK_SUSPENDED: u32 = 1;
pub const USP_TASK_ENQUEUED: u32 = 2;
pub const USP_TASK_CREATED: u32 = 3;
pub const USP_TASK_WAIT_UNKNOWN: u32 = 0;
pub const USP_TASK_WAIT_TASK: u32 = 1;
pub const USP_TASK_WAIT_CONTINUATION: u32 = 2;
pub const USP_TASK_WAIT_GROUP: u32 = 3;
pub const USP_TASK_WAIT_EXECUTOR: u32 = 4;
pub const USP_TASK_CANCELLED: u32 = 1 << 0;
pub const USP_TASK_CHILD: u32 = 1 << 1;
pub const USP_TASK_GROUP_CHILD: u32 = 1 << 2;
pub const USP_TASK_ASYNC_LET: u32 = 1 << 3;
pub const USP_NO_INDEX: u32 = u32::MAX;
pub const USP_FRAME_KIND_NONE: u32 = 0;
pub const USP_FRAME_KIND_INTERRUPTED: u32 = 1;
pub const USP_FRAME_KIND_RETURN_ADDRESS: u32 = 2;
pub const USP_FRAME_KIND_LINK_REGISTER: u32 = 3;
pub const USP_FRAME_KIND_ASYNC_RESUME: u32 = 4;
pub const USP_FRAME_KIND_SIGNAL: u32 = 5;
pub const USP_FRAME_METHOD_NONE: u32 = 0;
pub const USP_FRAME_METHOD_CONTEXT: u32 = 1;
pub const USP_FRAME_METHOD_LINK_REGISTER: u32 = 2;
pub const USP_FRAME_METHOD_FRAME_POINTER: u32 = 3;
pub const USP_FRAME_METHOD_INSTRUCTIONS: u32 = 4;
pub const USP_FRAME_METHOD_SIGNAL: u32 = 5;
pub const USP_FRAME_METHOD_ASYNC: u32 = 6;
pub const USP_FRAME_METHOD_COMPACT: u32 = 7;
pub const USP_FRAME_METHOD_CFI: u32 = 8;
pub const USP_FRAME_METHOD_EHABI: u32 = 9;
pub const USP_FRAME_METHOD_GO: u32 = 10;
pub const USP_FRAME_METHOD_SEARCH: u32 = 11;
pub const USP_FRAME_THUMB: u32 = 1 << 0;
pub const USP_FRAME_EXTENDED: u32 = 1 << 1;
pub const USP_FRAME_SIGNED: u32 = 1 << 2;
pub const USP_FRAME_UNVERIFIED: u32 = 1 << 3;
pub const USP_STOP_NONE: u32 = 0;
pub const USP_STOP_ROOT: u32 = 1;
pub const USP_STOP_FP_ZERO: u32 = 2;
pub const USP_STOP_FP_MISALIGNED: u32 = 3;
pub const USP_STOP_FP_BACKWARDS: u32 = 4;
pub const USP_STOP_FP_OUTSIDE: u32 = 5;
pub const USP_STOP_UNREADABLE: u32 = 6;
pub const USP_STOP_RA_ZERO: u32 = 7;
pub const USP_STOP_RA_NOT_CODE: u32 = 8;
pub const USP_STOP_NO_RECORD: u32 = 9;
pub const USP_STOP_CAPACITY: u32 = 10;
pub const USP_STOP_CYCLE: u32 = 11;
pub const USP_STOP_STEP_LIMIT: u32 = 12;
pub const USP_STOP_DEADLINE: u32 = 13;
pub const USP_STOP_CORRUPT_TABLE: u32 = 14;
pub const USP_STOP_REGISTERS: u32 = 15;
pub const USP_STOP_NOT_COPIED: u32 = 16;
pub const USP_STOP_KERNEL: u32 = 17;
pub const USP_STACK_NO_INSTRUCTIONS: u32 = 1 << 0;
pub const USP_STACK_EXTENDED: u32 = 1 << 1;
pub const USP_STACK_TASK_ID: u32 = 1 << 2;
pub const USP_STACK_ASYNC_BROKEN: u32 = 1 << 3;
pub const USP_STACK_CORRUPT_TABLE: u32 = 1 << 4;
pub const USP_STACK_OMITTED_MORE: u32 = 1 << 5;
pub const USP_OS_UNKNOWN: u32 = 0;
pub const USP_OS_LINUX: u32 = 1;
pub const USP_OS_DARWIN: u32 = 2;
pub const USP_UNWIND_TABLES_AS_LINKED: u32 = 1 << 0;
pub const USP_READER_SIGNAL: u32 = 1 << 0;
pub const USP_READER_INSTRUCTIONS: u32 = 1 << 1;
pub const USP_READER_FRAME_RECORD: u32 = 1 << 2;
pub const USP_READER_COMPACT: u32 = 1 << 3;
pub const USP_READER_CFI: u32 = 1 << 4;
pub const USP_READER_EHABI: u32 = 1 << 5;
pub const USP_READER_GO: u32 = 1 << 6;
pub const USP_READER_TABLES: u32 = USP_READER_COMPACT | USP_READER_CFI | USP_READER_EHABI | USP_READER_GO;
pub const USP_READER_ALL: u32 = 0x7fffffff;

opaque! {
    usp_builds
    usp_demangler
    usp_dyld_caches
    usp_filter
    usp_images
    usp_monitor
    usp_profile
    usp_profile_file
    usp_reader
    usp_report
    usp_sampler
    usp_snapshot
    usp_stack_table
    usp_symbolizer
    usp_tasks
}

structs! {
    pub struct usp_prepare_options {
        pub size: u32,
        pub signal: i32,
        pub max_threads: u32,
        pub stack_copy: u32,
        pub timeout: u64,
        pub kept_rules: u32,
        pub reserved0: u32,
        pub table_limit: u64,
        pub reserved: [u64; 2],
    }

    pub struct usp_capture_usage {
        pub copies: u64,
        pub rules: u64,
        pub images: u64,
        pub tables: u64,
        pub reserved: [u64; 4],
    }

    pub struct usp_thread {
        pub id: u64,
        pub native: u64,
    }

    pub struct usp_thread_info {
        pub thread: usp_thread,
        pub name: [c_char; 64],
        pub queue: [c_char; 128],
        pub flags: u32,
        pub run_state: u32,
        pub cpu_time: u64,
        pub data: usp_addr,
        pub lock_owner: u64,
        pub lock_kind: u32,
        pub deadlock: u32,
        pub reserved: [u64; 1],
    }

    pub struct usp_crash_options {
        pub size: u32,
        pub max_reports: u32,
        pub max_bytes: u64,
        pub directory: *const c_char,
        pub version: *const c_char,
        pub max_threads: u32,
        pub max_frames: u32,
        pub timeout: u64,
        pub callback: Option<unsafe extern "C" fn(context: *mut c_void, text: *mut c_char, size: usize)>,
        pub context: *mut c_void,
        pub reserved: [u64; 4],
    }

    pub struct usp_crash_run {
        pub verdict: u32,
        pub crashes: u32,
        pub pid: i64,
        pub started: u64,
        pub lasted: u64,
        pub report: [c_char; 48],
        pub evidence: [c_char; 160],
        pub reserved: [u64; 4],
    }

    pub struct usp_crash_report {
        pub name: [c_char; 48],
        pub started: u64,
        pub bytes: u64,
        pub is_sent: u32,
        pub reserved0: u32,
        pub reserved: [u64; 4],
    }

    pub struct usp_dyld_cache {
        pub path: *const c_char,
        pub base: usp_addr,
        pub size: u64,
        pub uuid: [u8; 16],
        pub arch: u32,
        pub variant: u32,
        pub platform: u32,
        pub image_count: u32,
        pub file_count: u32,
        pub missing_count: u32,
        pub reserved: [u64; 4],
    }

    pub struct usp_filter_options {
        pub size: u32,
        pub flags: u32,
        pub patterns: *const *const c_char,
        pub pattern_count: usize,
        pub folders: *const *const c_char,
        pub folder_count: usize,
        pub reserved: [u64; 4],
    }

    pub struct usp_format_options {
        pub size: u32,
        pub style: u32,
        pub symbolizer: *mut usp_symbolizer,
        pub images: *const usp_images,
        pub demangler: *mut usp_demangler,
        pub filter: *const usp_filter,
        pub symbols: *const usp_symbol,
        pub count: u64,
        pub crashed_thread: u64,
        pub flags: u32,
        pub reserved0: u32,
        pub tasks: *const usp_tasks,
        pub reserved: [u64; 4],
    }

    pub struct usp_image {
        pub path: *const c_char,
        pub load_address: usp_addr,
        pub text_low: usp_addr,
        pub text_high: usp_addr,
        pub end: usp_addr,
        pub slide: u64,
        pub arch: u32,
        pub flags: u32,
        pub build_id: [u8; USP_BUILD_ID_MAX as usize],
        pub build_id_size: u32,
        pub section: u32,
        pub member_offset: u64,
        pub text_offset: u64,
        pub variant: u32,
        pub reserved0: u32,
        pub hole_offset: u32,
        pub hole_size: u32,
    }

    pub struct usp_image_file_options {
        pub size: u32,
        pub arch: u32,
        pub flags: u32,
        pub build_id_size: u32,
        pub build_id: [u8; USP_BUILD_ID_MAX as usize],
        pub load_address: usp_addr,
        pub variant: u32,
        pub reserved0: u32,
        pub reserved: [u64; 3],
    }

    pub struct usp_shared_cache {
        pub base: usp_addr,
        pub slide: u64,
        pub uuid: [u8; 16],
        pub reserved: [u64; 2],
    }

    pub struct usp_source_frame {
        pub function: *const c_char,
        pub directory: *const c_char,
        pub file: *const c_char,
        pub line: u32,
        pub column: u32,
        pub flags: u32,
        pub named_by: u32,
        pub line_source: u32,
        pub reserved0: u32,
        pub start: usp_addr,
        pub address: usp_addr,
        pub reserved: [u64; 2],
    }

    pub struct usp_lines {
        pub size: u32,
        pub flags: u32,
        pub frames: *mut usp_source_frame,
        pub capacity: u32,
        pub count: u32,
        pub folded: u32,
        pub reserved0: u32,
        pub symbol: usp_symbol,
        pub reserved: [u64; 4],
    }

    pub struct usp_index {
        pub size: u32,
        pub threads: u32,
        pub store: *const c_char,
        pub progress: usp_index_progress,
        pub context: *mut c_void,
        pub source_bytes: u64,
        pub index_bytes: u64,
        pub blocks: u64,
        pub symbols: u64,
        pub compared: u64,
        pub different: u64,
        pub message: [c_char; 512],
        pub flags: u32,
        pub is_kept: u32,
        pub reserved: [u64; 3],
        pub dyld_caches: *const usp_dyld_caches,
    }

    pub struct usp_index_info {
        pub size: u32,
        pub arch: u32,
        pub variant: u32,
        pub flags: u32,
        pub build_id_size: u32,
        pub build_id: [u8; USP_BUILD_ID_MAX as usize],
        pub name: [c_char; 64],
        pub index_bytes: u64,
        pub blocks: u64,
        pub symbols: u64,
        pub reserved: [u64; 4],
    }

    pub struct usp_hang {
        pub id: u64,
        pub state: u32,
        pub flags: u32,
        pub pid: i64,
        pub program: *const c_char,
        pub thread: usp_thread,
        pub wall_start: u64,
        pub duration: u64,
        pub taken_off: u64,
        pub interval: u64,
        pub samples: u64,
        pub first_after: u64,
        pub first: *const usp_stack,
        pub profile: *mut usp_profile,
        pub threads: *mut usp_profile,
        pub capture_status: i32,
        pub reserved0: u32,
        pub reserved: [u64; 4],
    }

    pub struct usp_hang_write_options {
        pub size: u32,
        pub style: u32,
        pub symbolizer: *mut usp_symbolizer,
        pub images: *const usp_images,
        pub demangler: *mut usp_demangler,
        pub flags: u32,
        pub reserved0: u32,
        pub reserved: [u64; 3],
    }

    pub struct usp_monitor_options {
        pub size: u32,
        pub flags: u32,
        pub thread: usp_thread,
        pub late: u64,
        pub hang: u64,
        pub severe: u64,
        pub interval: u64,
        pub idle: u64,
        pub update: u64,
        pub max_frames: u32,
        pub reserved0: u32,
        pub memory: u64,
        pub file: *const c_char,
        pub began: Option<unsafe extern "C" fn(context: *mut c_void, hang: *const usp_hang)>,
        pub updated: Option<unsafe extern "C" fn(context: *mut c_void, hang: *const usp_hang)>,
        pub ended: Option<unsafe extern "C" fn(context: *mut c_void, hang: *const usp_hang)>,
        pub killed: Option<unsafe extern "C" fn(context: *mut c_void, hang: *const usp_hang)>,
        pub ping: Option<unsafe extern "C" fn(context: *mut c_void)>,
        pub is_waiting: Option<unsafe extern "C" fn(context: *mut c_void, stack: *const usp_stack) -> bool>,
        pub context: *mut c_void,
        pub reserved: [u64; 6],
    }

    pub struct usp_monitor_statistics {
        pub turns: u64,
        pub late: u64,
        pub hangs: u64,
        pub looks: u64,
        pub sleeps: u64,
        pub captures: u64,
        pub taken_off: u64,
        pub excused: u64,
        pub reserved: [u64; 4],
    }

    pub struct usp_place {
        pub image: *const c_char,
        pub image_length: usize,
        pub build_id: [u8; USP_BUILD_ID_MAX as usize],
        pub build_id_size: u32,
        pub arch: u32,
        pub base: u32,
        pub flags: u32,
        pub offset: u64,
        pub name: *const c_char,
        pub name_length: usize,
        pub name_offset: u64,
        pub file_end: u64,
        pub reserved: [u64; 1],
    }

    pub struct usp_answer {
        pub frames: *const usp_source_frame,
        pub count: u32,
        pub flags: u32,
        pub offset: u64,
        pub status: i32,
        pub reserved0: u32,
        pub reserved: [u64; 1],
    }

    pub struct usp_build_source {
        pub path: *const c_char,
        pub index_store: *const c_char,
        pub build_id: [u8; USP_BUILD_ID_MAX as usize],
        pub build_id_size: u32,
        pub reserved0: u32,
        pub image: *const usp_image,
    }

    pub struct usp_build_sources {
        pub of: [usp_build_source; USP_BUILD_SOURCES as usize],
        pub count: u32,
        pub flags: u32,
    }

    pub struct usp_builds_options {
        pub size: u32,
        pub demangling: u32,
        pub index_store: *const c_char,
        pub find: usp_build_function,
        pub note: usp_build_note_function,
        pub context: *mut c_void,
        pub builds_kept: u32,
        pub path_map_count: u32,
        pub path_maps: *const usp_path_map,
        pub reserved: [u64; 3],
        pub dyld_caches: *const usp_dyld_caches,
    }

    pub struct usp_profile_options {
        pub size: u32,
        pub flags: u32,
        pub memory: u64,
        pub pid: i64,
        pub program: *const c_char,
        pub arch: u32,
        pub reserved0: u32,
        pub reserved: [u64; 4],
    }

    pub struct usp_profile_sample {
        pub thread: *const usp_thread_info,
        pub stack: *const usp_stack,
        pub images: *const usp_images,
        pub time: u64,
        pub wall: u64,
        pub cpu: u64,
        pub count: u64,
        pub reserved: [u64; 2],
    }

    pub struct usp_profile_run {
        pub wall_start: u64,
        pub start: u64,
        pub end: u64,
        pub interval: u64,
        pub longest_interval: u64,
        pub ticks: u64,
        pub missed_ticks: u64,
        pub slowed: u64,
        pub captures: u64,
        pub failed: u64,
        pub truncated: u64,
        pub threads_appeared: u64,
        pub threads_ended: u64,
        pub threads_left_out: u64,
        pub stopped_ns: u64,
        pub longest_stop_ns: u64,
        pub cpu_ns: u64,
        pub budget_cpu: u64,
        pub budget_stopped: u64,
        pub reserved: [u64; 5],
    }

    pub struct usp_profile_info {
        pub samples: u64,
        pub wall_ns: u64,
        pub cpu_ns: u64,
        pub first: u64,
        pub last: u64,
        pub in_time_line: u64,
        pub evicted: u64,
        pub refused: u64,
        pub threads: u64,
        pub stacks: u64,
        pub nodes: u64,
        pub memory: u64,
        pub run: usp_profile_run,
        pub reserved: [u64; 4],
    }

    pub struct usp_profile_entry {
        pub thread: *const usp_thread_info,
        pub stack: *const usp_stack,
        pub samples: u64,
        pub wall: u64,
        pub cpu: u64,
        pub reserved: [u64; 2],
    }

    pub struct usp_profile_write_options {
        pub size: u32,
        pub format: u32,
        pub value: u32,
        pub flags: u32,
        pub symbolizer: *mut usp_symbolizer,
        pub images: *const usp_images,
        pub demangler: *mut usp_demangler,
        pub title: *const c_char,
        pub file: *const usp_profile_file,
        pub reserved: [u64; 5],
    }

    pub struct usp_profile_file_info {
        pub format: u32,
        pub damage: i32,
        pub read: u64,
        pub mappings: u64,
        pub locations: u64,
        pub functions: u64,
        pub named: u64,
        pub found: u64,
        pub program: *const c_char,
        pub reserved: [u64; 3],
    }

    pub struct usp_raw_thread {
        pub info: *const usp_thread_info,
        pub registers: *const usp_registers,
        pub stack: *const usp_stack,
        pub status: i32,
        pub reserved0: u32,
        pub reserved: [u64; 4],
    }

    pub struct usp_raw_capture {
        pub size: u32,
        pub arch: u32,
        pub os: u32,
        pub signal: u32,
        pub pid: i64,
        pub time: u64,
        pub images: *const usp_images,
        pub threads: *const usp_raw_thread,
        pub thread_count: usize,
        pub snapshot: *const usp_snapshot,
        pub reserved: [u64; 4],
    }

    pub struct usp_recording_sample {
        pub thread: *const usp_thread_info,
        pub stack: *const usp_stack,
        pub images: *const usp_images,
        pub event: *const c_char,
        pub pid: i64,
        pub time: u64,
        pub period: u64,
        pub duration: u64,
        pub event_index: u32,
        pub flags: u32,
        pub count: u64,
        pub cpu: u64,
        pub reserved: [u64; 2],
    }

    pub struct usp_recording_info {
        pub arch: u32,
        pub event_count: u32,
        pub samples: u64,
        pub lost: u64,
        pub unwound: u64,
        pub short_dumps: u64,
        pub first: u64,
        pub last: u64,
        pub maps_left_out: u64,
        pub wall_start: u64,
        pub length: u64,
        pub interval: u64,
        pub reserved: [u64; 2],
    }

    pub struct usp_recording_options {
        pub size: u32,
        pub max_frames: u32,
        pub pid: i64,
        pub from: u64,
        pub to: u64,
        pub read: Option<unsafe extern "C" fn(context: *mut c_void, offset: u64, to: *mut c_void, n: usize) -> i64>,
        pub file_size: u64,
        pub sample: Option<unsafe extern "C" fn(context: *mut c_void, sample: *const usp_recording_sample) -> c_int>,
        pub end_thread: Option<unsafe extern "C" fn(context: *mut c_void, id: u64)>,
        pub context: *mut c_void,
        pub sysroot: *const c_char,
        pub build_ids: *const c_char,
        pub reserved: [u64; 5],
    }

    pub struct usp_registers {
        pub arch: u32,
        pub flags: u32,
        pub known: u64,
        pub value: [usp_addr; USP_REGISTERS_MAX as usize],
        pub system_call: u32,
        pub reserved0: u32,
        pub reserved: [u64; 3],
    }

    pub struct usp_reader_options {
        pub size: u32,
        pub flags: u32,
        pub find: usp_place_function,
        pub write: usp_write_function,
        pub context: *mut c_void,
        pub images: *const usp_reader,
        pub reserved: [u64; 4],
    }

    pub struct usp_reader_counts {
        pub texts: u64,
        pub frames: u64,
        pub named: u64,
        pub answered: u64,
        pub no_symbol: u64,
        pub no_file: u64,
        pub no_image: u64,
        pub format: *const c_char,
        pub passed: u64,
        pub renamed: u64,
        pub lined: u64,
        pub reserved: [u64; 1],
    }

    pub struct usp_report_options {
        pub size: u32,
        pub style: u32,
        pub flags: u32,
        pub reserved0: u32,
        pub thread: u64,
        pub reserved: [u64; 4],
    }

    pub struct usp_sampler_options {
        pub size: u32,
        pub which: u32,
        pub threads: *const usp_thread,
        pub thread_count: usize,
        pub names: *const *const c_char,
        pub name_count: usize,
        pub interval: u64,
        pub jitter: u32,
        pub budget_cpu: u32,
        pub budget_stopped: u32,
        pub max_frames: u32,
        pub max_threads: u32,
        pub flags: u32,
        pub memory: u64,
        pub process: i64,
        pub reserved: [u64; 6],
    }

    pub struct usp_snapshot_options {
        pub size: u32,
        pub max_frames: u32,
        pub sp_bytes: u32,
        pub means: u32,
        pub skip_own: u32,
        pub only_thread: u64,
        pub timeout: u64,
        pub sysroot: *const c_char,
        pub program: *const c_char,
        pub unwind: usp_unwind_options,
        pub whole_stacks: u32,
        pub goroutines: u32,
        pub reserved: [u64; 3],
    }

    pub struct usp_core_stream {
        pub size: u32,
        pub below_sysroot: u32,
        pub read: Option<unsafe extern "C" fn(context: *mut c_void, to: *mut c_void, n: usize) -> i64>,
        pub context: *mut c_void,
        pub memory: usp_memory,
        pub describe: Option<unsafe extern "C" fn(context: *mut c_void, info: *mut usp_thread_info)>,
        pub max_bytes: u64,
        pub time: u64,
        pub name: *const c_char,
        pub reserved: [u64; 4],
    }

    pub struct usp_snapshot_info {
        pub arch: u32,
        pub os: u32,
        pub pid: i64,
        pub time: u64,
        pub stopped_ns: u64,
        pub thread_count: u32,
        pub missed: u32,
        pub flags: u32,
        pub signal: u32,
        pub program: *const c_char,
        pub crash: *const c_char,
        pub crashed_thread: u64,
        pub fault_address: usp_addr,
        pub signal_code: i32,
        pub mach_exception: u32,
        pub mach_codes: [u64; 2],
    }

    pub struct usp_snapshot_thread {
        pub info: usp_thread_info,
        pub status: i32,
        pub reserved0: u32,
        pub registers: usp_registers,
        pub stack_low: usp_addr,
        pub stack_high: usp_addr,
        pub stopped_ns: u64,
        pub stack: usp_stack,
        pub sp_bytes: *const c_void,
        pub sp_bytes_address: usp_addr,
        pub sp_bytes_size: usize,
        pub wait_channel: *const c_char,
        pub lock: usp_addr,
        pub reserved: [u64; 2],
    }

    pub struct usp_snapshot_note {
        pub kind: u32,
        pub reserved0: u32,
        pub time: u64,
        pub key: *const c_char,
        pub text: *const c_char,
    }

    pub struct usp_stack_record {
        pub number: u64,
        pub count: u64,
        pub first: u64,
        pub last: u64,
        pub identity: [u8; USP_STACK_IDENTITY_SIZE as usize],
        pub stack: usp_stack,
        pub opaque: *mut c_void,
        pub reserved: [u64; 3],
    }

    pub struct usp_stack_table_options {
        pub size: u32,
        pub max_stacks: u32,
        pub max_frames: u32,
        pub reserved0: u32,
        pub images: *const usp_images,
        pub evicted: Option<unsafe extern "C" fn(context: *mut c_void, record: *const usp_stack_record)>,
        pub context: *mut c_void,
        pub reserved: [u64; 5],
    }

    pub struct usp_stack_table_statistics {
        pub stacks: u64,
        pub frames: u64,
        pub sightings: u64,
        pub evicted_stacks: u64,
        pub evicted_sightings: u64,
        pub refused: u64,
        pub images: u64,
        pub reserved: [u64; 4],
    }

    pub struct usp_path_map {
        pub from: *const c_char,
        pub to: *const c_char,
    }

    pub struct usp_symbolizer_options {
        pub size: u32,
        pub reserved0: u32,
        pub program: *const c_char,
        pub sysroot: *const c_char,
        pub folder: *const c_char,
        pub memory_limit: u64,
        pub process: i64,
        pub memory: *const usp_memory,
        pub pac_mask: u64,
        pub shared_cache: usp_addr,
        pub index_store: *const c_char,
        pub path_maps: *const usp_path_map,
        pub path_map_count: u32,
        pub inlined_limit: u32,
        pub recorded_process: i64,
        pub reserved: [u64; 1],
        pub dyld_caches: *const usp_dyld_caches,
        pub build_ids: *const c_char,
    }

    pub struct usp_symbolizer_usage {
        pub images: u32,
        pub reserved0: u32,
        pub symbols: u64,
        pub memory: u64,
        pub indexes_made: u64,
        pub indexes_given_up: u64,
        pub reserved: [u64; 4],
    }

    pub struct usp_symbol {
        pub name: *const c_char,
        pub start: usp_addr,
        pub offset: u64,
        pub extent: u64,
        pub strategy: u32,
        pub reserved0: u32,
        pub image_path: *const c_char,
        pub image_load: usp_addr,
        pub build_id: [u8; USP_BUILD_ID_MAX as usize],
        pub build_id_size: u32,
        pub reserved1: u32,
        pub source_file: *const c_char,
        pub reserved: [u64; 3],
    }

    pub struct usp_tasks_options {
        pub size: u32,
        pub max_frames: u32,
        pub max_tasks: u32,
        pub reserved0: u32,
        pub max_bytes: u64,
        pub timeout: u64,
        pub reserved: [u64; 4],
    }

    pub struct usp_tasks_info {
        pub count: u32,
        pub running: u32,
        pub changed: u32,
        pub flags: u32,
        pub searched: u64,
        pub reserved: [u64; 4],
    }

    pub struct usp_task {
        pub id: u64,
        pub address: usp_addr,
        pub state: u32,
        pub wait: u32,
        pub flags: u32,
        pub priority: u32,
        pub parent: u64,
        pub awaited: u64,
        pub stack: usp_stack,
        pub reserved: [u64; 4],
    }

    pub struct usp_memory {
        pub read: Option<unsafe extern "C" fn(context: *mut c_void, from: usp_addr, to: *mut c_void, n: usize) -> c_int>,
        pub context: *mut c_void,
    }

    pub struct usp_frame {
        pub pc: usp_addr,
        pub cfa: usp_addr,
        pub fp: usp_addr,
        pub kind: u32,
        pub method: u32,
        pub flags: u32,
        pub reserved: [u32; 3],
    }

    pub struct usp_stack {
        pub frames: *mut usp_frame,
        pub capacity: u32,
        pub count: u32,
        pub physical: u32,
        pub omitted_at: u32,
        pub omitted: u64,
        pub async_omitted: u64,
        pub arch: u32,
        pub stop: u32,
        pub async_stop: u32,
        pub flags: u32,
        pub extended: u32,
        pub async_join: u32,
        pub task_id: u32,
        pub status: i32,
        pub stop_address: usp_addr,
        pub stopped_ns: u64,
        pub hash: u64,
        pub reserved: [u64; 3],
    }

    pub struct usp_region {
        pub text_low: usp_addr,
        pub text_high: usp_addr,
        pub flags: u32,
        pub reserved: u32,
    }

    pub struct usp_memory_range {
        pub address: usp_addr,
        pub size: u64,
    }

    pub struct usp_unwind_tables {
        pub image: usp_addr,
        pub text_base: usp_addr,
        pub data_base: usp_addr,
        pub slide: usp_addr,
        pub flags: u32,
        pub reserved0: u32,
        pub eh_frame_hdr: usp_memory_range,
        pub eh_frame: usp_memory_range,
        pub debug_frame: usp_memory_range,
        pub debug_frame_hdr: usp_memory_range,
        pub unwind_info: usp_memory_range,
        pub exidx: usp_memory_range,
        pub memory: usp_memory,
        pub function_starts: usp_memory_range,
        pub direct: usp_memory_range,
        pub go_functions: usp_memory_range,
        pub go_text: usp_addr,
        pub reserved: [u64; 3],
    }

    pub struct usp_target {
        pub size: u32,
        pub arch: u32,
        pub os: u32,
        pub address_bits: u32,
        pub pac_mask: u64,
        pub memory: usp_memory,
        pub code: usp_memory,
        pub stack_low: usp_addr,
        pub stack_high: usp_addr,
        pub function_start: Option<unsafe extern "C" fn(context: *mut c_void, pc: usp_addr, start: *mut usp_addr, end: *mut usp_addr) -> c_int>,
        pub image_at: Option<unsafe extern "C" fn(context: *mut c_void, pc: usp_addr, region: *mut usp_region) -> c_int>,
        pub context: *mut c_void,
        pub roots: *const usp_addr,
        pub root_count: u32,
        pub beyond_roots: u32,
        pub swift_task_slot: usp_addr,
        pub unwind_tables_at: Option<unsafe extern "C" fn(context: *mut c_void, pc: usp_addr, tables: *mut usp_unwind_tables) -> c_int>,
        pub reserved: [u64; 3],
    }

    pub struct usp_unwind_options {
        pub size: u32,
        pub tail: u32,
        pub skip: u32,
        pub r#async: u32,
        pub step_limit: u32,
        pub readers: u32,
        pub deadline: u64,
        pub images: *const usp_images,
        pub readers_first: u32,
        pub reserved0: u32,
        pub start_fp: usp_addr,
        pub reserved: [u64; 4],
    }

    pub struct usp_cursor {
        pub opaque: [u64; 224],
    }
}

extern "C" {
    pub fn usp_address_name(address: *const c_void) -> *const c_char;
    pub fn usp_arch_from_string(name: *const c_char) -> u32;
    pub fn usp_arch_host() -> u32;
    pub fn usp_arch_pointer_size(arch: u32) -> u32;
    pub fn usp_arch_string(arch: u32) -> *const c_char;
    pub fn usp_backtrace(buffer: *mut *mut c_void, size: c_int) -> c_int;
    pub fn usp_backtrace_async(buffer: *mut *mut c_void, length: usize, task_id: *mut u32) -> usize;
    pub fn usp_backtrace_from_fp(startfp: *mut c_void, buffer: *mut *mut c_void, size: c_int) -> c_int;
    pub fn usp_backtrace_records(buffer: *mut *mut c_void, size: c_int) -> c_int;
    pub fn usp_builds_create(options: *const usp_builds_options, builds: *mut *mut usp_builds) -> c_int;
    pub fn usp_builds_free(builds: *mut usp_builds);
    pub fn usp_builds_options_init(options: *mut usp_builds_options);
    pub fn usp_builds_trim(builds: *mut usp_builds);
    pub fn usp_capture_context(ucontext: *const c_void, options: *const usp_unwind_options, stack: *mut usp_stack) -> c_int;
    pub fn usp_capture_get_usage(usage: *mut usp_capture_usage) -> c_int;
    pub fn usp_capture_self(options: *const usp_unwind_options, stack: *mut usp_stack) -> c_int;
    pub fn usp_capture_thread(thread: *const usp_thread, options: *const usp_unwind_options, stack: *mut usp_stack) -> c_int;
    pub fn usp_clock() -> u64;
    pub fn usp_compact_images_read(bytes: *const u8, n: usize, arch: u32, images: *mut *mut usp_images, platform: *mut c_char, platform_size: usize) -> c_int;
    pub fn usp_compact_images_write(images: *const usp_images, arch: u32, platform: *const c_char, bytes: *mut u8, capacity: usize, size: *mut usize) -> c_int;
    pub fn usp_compact_stack_read(bytes: *const u8, n: usize, arch: u32, stack: *mut usp_stack, needed: *mut usize) -> c_int;
    pub fn usp_compact_stack_write(stack: *const usp_stack, bytes: *mut u8, capacity: usize, size: *mut usize) -> c_int;
    pub fn usp_core_stream_init(stream: *mut usp_core_stream);
    pub fn usp_crash_delete(directory: *const c_char, name: *const c_char) -> c_int;
    pub fn usp_crash_install(options: *const usp_crash_options) -> c_int;
    pub fn usp_crash_last_run(directory: *const c_char, version: *const c_char, run: *mut usp_crash_run) -> c_int;
    pub fn usp_crash_list(directory: *const c_char, reports: *mut usp_crash_report, capacity: usize, count: *mut usize) -> c_int;
    pub fn usp_crash_mark_sent(directory: *const c_char, name: *const c_char) -> c_int;
    pub fn usp_crash_note(text: *const c_char) -> c_int;
    pub fn usp_crash_open(directory: *const c_char, name: *const c_char, snapshot: *mut *mut usp_snapshot, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_crash_options_init(options: *mut usp_crash_options);
    pub fn usp_crash_set(key: *const c_char, value: *const c_char) -> c_int;
    pub fn usp_crash_set_exception(kind: *const c_char, text: *const c_char, frames: *const usp_addr, count: usize) -> c_int;
    pub fn usp_crash_status() -> c_int;
    pub fn usp_crash_thread_begin() -> c_int;
    pub fn usp_crash_thread_end();
    pub fn usp_crash_trim(directory: *const c_char, max_reports: u32, max_bytes: u64) -> c_int;
    pub fn usp_crash_uninstall();
    pub fn usp_cursor_init(cursor: *mut usp_cursor, target: *const usp_target, registers: *const usp_registers, options: *const usp_unwind_options) -> c_int;
    pub fn usp_cursor_registers(cursor: *const usp_cursor, registers: *mut usp_registers) -> c_int;
    pub fn usp_cursor_step(cursor: *mut usp_cursor, frame: *mut usp_frame) -> c_int;
    pub fn usp_cursor_stop(cursor: *const usp_cursor, address: *mut usp_addr) -> u32;
    pub fn usp_demangle(demangler: *mut usp_demangler, name: *const c_char) -> *const c_char;
    pub fn usp_demangler_create(mode: u32, demangler: *mut *mut usp_demangler) -> c_int;
    pub fn usp_demangler_free(demangler: *mut usp_demangler);
    pub fn usp_dyld_caches_add(caches: *mut usp_dyld_caches, path: *const c_char, note: usp_dyld_caches_note, context: *mut c_void, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_dyld_caches_count(caches: *const usp_dyld_caches) -> usize;
    pub fn usp_dyld_caches_create(caches: *mut *mut usp_dyld_caches) -> c_int;
    pub fn usp_dyld_caches_extract(caches: *const usp_dyld_caches, uuid: *const u8, write: usp_write_function, context: *mut c_void, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_dyld_caches_find(caches: *const usp_dyld_caches, uuid: *const u8, image: *mut usp_image) -> c_int;
    pub fn usp_dyld_caches_free(caches: *mut usp_dyld_caches);
    pub fn usp_dyld_caches_get(caches: *const usp_dyld_caches, i: usize, cache: *mut usp_dyld_cache) -> c_int;
    pub fn usp_dyld_caches_list(caches: *const usp_dyld_caches, i: usize, flags: u32, images: *mut *mut usp_images) -> c_int;
    pub fn usp_filter_create(images: *const usp_images, options: *const usp_filter_options, filter: *mut *mut usp_filter) -> c_int;
    pub fn usp_filter_free(filter: *mut usp_filter);
    pub fn usp_filter_keeps(filter: *const usp_filter, address: usp_addr) -> bool;
    pub fn usp_filter_keeps_frame(filter: *const usp_filter, arch: u32, frame: *const usp_frame) -> bool;
    pub fn usp_filter_options_init(options: *mut usp_filter_options);
    pub fn usp_filter_stack(filter: *const usp_filter, stack: *mut usp_stack) -> u32;
    pub fn usp_format_escaped(buffer: *mut c_char, size: usize, escape: u32, bytes: *const c_char, n: usize) -> c_int;
    pub fn usp_format_frame(buffer: *mut c_char, size: usize, format: u32, stack: *const usp_stack, index: u32, symbol: *const usp_symbol) -> c_int;
    pub fn usp_format_options_init(options: *mut usp_format_options);
    pub fn usp_format_pthread(buffer: *mut c_char, size: usize, pthread: usize) -> c_int;
    pub fn usp_format_snapshot(snapshot: *const usp_snapshot, options: *const usp_format_options, write: usp_write_function, context: *mut c_void) -> c_int;
    pub fn usp_format_stack(stack: *const usp_stack, thread: *const usp_thread_info, options: *const usp_format_options, write: usp_write_function, context: *mut c_void) -> c_int;
    pub fn usp_frame_call_site(arch: u32, frame: *const usp_frame) -> usp_addr;
    pub fn usp_hang_free(hang: *mut usp_hang);
    pub fn usp_hang_open(path: *const c_char, hang: *mut *mut usp_hang) -> c_int;
    pub fn usp_hang_state_string(state: u32) -> *const c_char;
    pub fn usp_hang_write(hang: *const usp_hang, options: *const usp_hang_write_options, write: usp_write_function, context: *mut c_void) -> c_int;
    pub fn usp_hang_write_options_init(options: *mut usp_hang_write_options);
    pub fn usp_image_at(address: usp_addr, image: *mut usp_image, path: *mut c_char, path_size: usize) -> c_int;
    pub fn usp_image_file_options_init(options: *mut usp_image_file_options);
    pub fn usp_images_acquire(ticket: *mut u32) -> *const usp_images;
    pub fn usp_images_count(images: *const usp_images) -> usize;
    pub fn usp_images_create(entries: *const usp_image, count: usize, images: *mut *mut usp_images) -> c_int;
    pub fn usp_images_create_process(pid: i64, images: *mut *mut usp_images, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_images_create_profile(profile: *mut usp_profile, images: *mut *mut usp_images) -> c_int;
    pub fn usp_images_create_self(images: *mut *mut usp_images) -> c_int;
    pub fn usp_images_find(images: *const usp_images, address: usp_addr) -> *const usp_image;
    pub fn usp_images_free(images: *mut usp_images);
    pub fn usp_images_generation() -> u64;
    pub fn usp_images_get(images: *const usp_images, i: usize) -> *const usp_image;
    pub fn usp_images_open(path: *const c_char, options: *const usp_image_file_options, images: *mut *mut usp_images, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_images_refresh() -> c_int;
    pub fn usp_images_release(ticket: u32);
    pub fn usp_images_shared_cache(images: *const usp_images, cache: *mut usp_shared_cache) -> c_int;
    pub fn usp_index_examine(path: *const c_char, flags: u32, info: *mut usp_index_info, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_index_image(store: *const c_char, build_id: *const u8, build_id_size: u32, image: *mut usp_image) -> c_int;
    pub fn usp_index_info_init(info: *mut usp_index_info);
    pub fn usp_index_init(index: *mut usp_index, store: *const c_char);
    pub fn usp_index_verify(images: *const usp_images, image: *const usp_image, index: *mut usp_index) -> c_int;
    pub fn usp_index_write(images: *const usp_images, image: *const usp_image, index: *mut usp_index) -> c_int;
    pub fn usp_is_prepared() -> bool;
    pub fn usp_line_source_string(source: u32) -> *const c_char;
    pub fn usp_lines_init(lines: *mut usp_lines, frames: *mut usp_source_frame, capacity: u32);
    pub fn usp_lock_kind_string(kind: u32) -> *const c_char;
    pub fn usp_mach_exception_string(exception: u32) -> *const c_char;
    pub fn usp_mangling_of(name: *const c_char) -> u32;
    pub fn usp_memory_init_self(memory: *mut usp_memory);
    pub fn usp_monitor_answer(monitor: *mut usp_monitor);
    pub fn usp_monitor_create(options: *const usp_monitor_options, monitor: *mut *mut usp_monitor) -> c_int;
    pub fn usp_monitor_free(monitor: *mut usp_monitor);
    pub fn usp_monitor_get_statistics(monitor: *mut usp_monitor, statistics: *mut usp_monitor_statistics);
    pub fn usp_monitor_learn_wait(monitor: *mut usp_monitor) -> c_int;
    pub fn usp_monitor_open_ping(monitor: *mut usp_monitor) -> c_int;
    pub fn usp_monitor_options_init(options: *mut usp_monitor_options);
    pub fn usp_monitor_start(monitor: *mut usp_monitor) -> c_int;
    pub fn usp_monitor_stop(monitor: *mut usp_monitor) -> c_int;
    pub fn usp_monitor_turn_begin(monitor: *mut usp_monitor);
    pub fn usp_monitor_turn_end(monitor: *mut usp_monitor);
    pub fn usp_monitor_waiting(monitor: *mut usp_monitor);
    pub fn usp_prepare(options: *const usp_prepare_options) -> c_int;
    pub fn usp_prepare_options_init(options: *mut usp_prepare_options);
    pub fn usp_print_hang(context: *mut c_void, hang: *const usp_hang);
    pub fn usp_print_profile(fd: c_int, profile: *mut usp_profile, format: u32) -> c_int;
    pub fn usp_print_snapshot(fd: c_int, snapshot: *const usp_snapshot) -> c_int;
    pub fn usp_print_stack(fd: c_int) -> c_int;
    pub fn usp_print_threads(fd: c_int) -> c_int;
    pub fn usp_print_threads_json(fd: c_int) -> c_int;
    pub fn usp_profile_add(profile: *mut usp_profile, sample: *const usp_profile_sample) -> c_int;
    pub fn usp_profile_copy(profile: *mut usp_profile, from: u64, to: u64, thread: u64, copy: *mut *mut usp_profile) -> c_int;
    pub fn usp_profile_create(options: *const usp_profile_options, profile: *mut *mut usp_profile) -> c_int;
    pub fn usp_profile_end_thread(profile: *mut usp_profile, id: u64);
    pub fn usp_profile_file_free(file: *mut usp_profile_file);
    pub fn usp_profile_file_get_info(file: *const usp_profile_file, info: *mut usp_profile_file_info);
    pub fn usp_profile_file_may_be(bytes: *const c_void, n: usize) -> c_int;
    pub fn usp_profile_file_open(bytes: *const c_void, n: usize, file: *mut *mut usp_profile_file, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_profile_file_samples(file: *mut usp_profile_file, options: *const usp_recording_options, info: *mut usp_recording_info) -> c_int;
    pub fn usp_profile_file_symbolicate(file: *mut usp_profile_file, builds: *mut usp_builds, demangler: *mut usp_demangler, flags: u32) -> c_int;
    pub fn usp_profile_file_write(file: *const usp_profile_file, write: usp_write_function, context: *mut c_void) -> c_int;
    pub fn usp_profile_format_string(format: u32) -> *const c_char;
    pub fn usp_profile_free(profile: *mut usp_profile);
    pub fn usp_profile_get_info(profile: *mut usp_profile, info: *mut usp_profile_info);
    pub fn usp_profile_heaviest(profile: *mut usp_profile, thread: u64, value: u32, stack: *mut usp_stack, share: *mut u32) -> c_int;
    pub fn usp_profile_options_init(options: *mut usp_profile_options);
    pub fn usp_profile_set_run(profile: *mut usp_profile, run: *const usp_profile_run);
    pub fn usp_profile_visit(profile: *mut usp_profile, visit: Option<unsafe extern "C" fn(context: *mut c_void, entry: *const usp_profile_entry) -> c_int>, context: *mut c_void) -> c_int;
    pub fn usp_profile_write(profile: *mut usp_profile, options: *const usp_profile_write_options, write: usp_write_function, context: *mut c_void) -> c_int;
    pub fn usp_profile_write_options_init(options: *mut usp_profile_write_options);
    pub fn usp_raw_capture_init(raw: *mut usp_raw_capture);
    pub fn usp_raw_write(fd: c_int, raw: *const usp_raw_capture) -> c_int;
    pub fn usp_reader_create(options: *const usp_reader_options, reader: *mut *mut usp_reader) -> c_int;
    pub fn usp_reader_end(reader: *mut usp_reader, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_reader_free(reader: *mut usp_reader);
    pub fn usp_reader_get_counts(reader: *const usp_reader, counts: *mut usp_reader_counts) -> c_int;
    pub fn usp_reader_image_count(reader: *const usp_reader) -> usize;
    pub fn usp_reader_learn(reader: *mut usp_reader, bytes: *const c_char, n: usize) -> c_int;
    pub fn usp_reader_options_init(options: *mut usp_reader_options);
    pub fn usp_reader_rewind(reader: *mut usp_reader) -> c_int;
    pub fn usp_reader_write(reader: *mut usp_reader, bytes: *const c_char, n: usize) -> c_int;
    pub fn usp_reader_write_whole(reader: *mut usp_reader, bytes: *const c_char, n: usize, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_recording_is(bytes: *const c_void, n: usize) -> c_int;
    pub fn usp_recording_options_init(options: *mut usp_recording_options);
    pub fn usp_recording_read(options: *const usp_recording_options, info: *mut usp_recording_info, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_register_name(arch: u32, n: c_uint) -> *const c_char;
    pub fn usp_registers_fp(registers: *const usp_registers) -> usp_addr;
    pub fn usp_registers_from_state(registers: *mut usp_registers, arch: u32, state: u32, bytes: *const c_void, n: usize) -> c_int;
    pub fn usp_registers_init(registers: *mut usp_registers, arch: u32) -> c_int;
    pub fn usp_registers_lr(registers: *const usp_registers) -> usp_addr;
    pub fn usp_registers_pc(registers: *const usp_registers) -> usp_addr;
    pub fn usp_registers_set_fp(registers: *mut usp_registers, value: usp_addr);
    pub fn usp_registers_set_lr(registers: *mut usp_registers, value: usp_addr);
    pub fn usp_registers_set_pc(registers: *mut usp_registers, value: usp_addr);
    pub fn usp_registers_set_sp(registers: *mut usp_registers, value: usp_addr);
    pub fn usp_registers_sp(registers: *const usp_registers) -> usp_addr;
    pub fn usp_report_compare(a: *const usp_report, b: *const usp_report, options: *const usp_report_options, write: usp_write_function, context: *mut c_void) -> c_int;
    pub fn usp_report_create(options: *const usp_reader_options, bytes: *const c_char, n: usize, report: *mut *mut usp_report, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_report_format(report: *const usp_report, style: u32, write: usp_write_function, context: *mut c_void) -> c_int;
    pub fn usp_report_free(report: *mut usp_report);
    pub fn usp_report_get_counts(report: *const usp_report, counts: *mut usp_reader_counts) -> c_int;
    pub fn usp_report_options_init(options: *mut usp_report_options);
    pub fn usp_report_read(options: *const usp_reader_options, read: usp_read_function, context: *mut c_void, report: *mut *mut usp_report, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_report_write(report: *const usp_report, options: *const usp_report_options, write: usp_write_function, context: *mut c_void) -> c_int;
    pub fn usp_run_state_string(os: u32, run_state: u32) -> *const c_char;
    pub fn usp_sampler_create(options: *const usp_sampler_options, sampler: *mut *mut usp_sampler, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_sampler_free(sampler: *mut usp_sampler);
    pub fn usp_sampler_get_run(sampler: *mut usp_sampler, run: *mut usp_profile_run);
    pub fn usp_sampler_is_alive(sampler: *mut usp_sampler) -> bool;
    pub fn usp_sampler_options_init(options: *mut usp_sampler_options);
    pub fn usp_sampler_read(sampler: *mut usp_sampler, from: u64, to: u64, thread: u64, profile: *mut *mut usp_profile) -> c_int;
    pub fn usp_sampler_start(sampler: *mut usp_sampler) -> c_int;
    pub fn usp_sampler_stop(sampler: *mut usp_sampler) -> c_int;
    pub fn usp_shutdown();
    pub fn usp_signal_string(os: u32, signal: u32) -> *const c_char;
    pub fn usp_snapshot_create_process(pid: i64, options: *const usp_snapshot_options, snapshot: *mut *mut usp_snapshot, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_snapshot_create_self(options: *const usp_snapshot_options, snapshot: *mut *mut usp_snapshot) -> c_int;
    pub fn usp_snapshot_exception(snapshot: *const usp_snapshot) -> *const usp_stack;
    pub fn usp_snapshot_free(snapshot: *mut usp_snapshot);
    pub fn usp_snapshot_get_info(snapshot: *const usp_snapshot) -> *const usp_snapshot_info;
    pub fn usp_snapshot_get_note(snapshot: *const usp_snapshot, i: usize) -> *const usp_snapshot_note;
    pub fn usp_snapshot_get_thread(snapshot: *const usp_snapshot, i: usize) -> *const usp_snapshot_thread;
    pub fn usp_snapshot_images(snapshot: *const usp_snapshot) -> *const usp_images;
    pub fn usp_snapshot_message(snapshot: *const usp_snapshot, i: usize) -> *const c_char;
    pub fn usp_snapshot_open_core(path: *const c_char, options: *const usp_snapshot_options, snapshot: *mut *mut usp_snapshot, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_snapshot_open_raw(path: *const c_char, options: *const usp_snapshot_options, snapshot: *mut *mut usp_snapshot, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_snapshot_options_init(options: *mut usp_snapshot_options);
    pub fn usp_snapshot_read_core(stream: *const usp_core_stream, options: *const usp_snapshot_options, snapshot: *mut *mut usp_snapshot, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_snapshot_target(snapshot: *const usp_snapshot, i: usize, target: *mut usp_target) -> c_int;
    pub fn usp_stack_create(thread: *const usp_thread, options: *const usp_unwind_options, stack: *mut *mut usp_stack) -> c_int;
    pub fn usp_stack_free(stack: *mut usp_stack);
    pub fn usp_stack_init(stack: *mut usp_stack, frames: *mut usp_frame, capacity: u32);
    pub fn usp_stack_record_images(record: *const usp_stack_record, images: *mut *mut usp_images) -> c_int;
    pub fn usp_stack_table_add(table: *mut usp_stack_table, stack: *const usp_stack, time: u64, number: *mut u64) -> c_int;
    pub fn usp_stack_table_create(options: *const usp_stack_table_options, table: *mut *mut usp_stack_table) -> c_int;
    pub fn usp_stack_table_free(table: *mut usp_stack_table);
    pub fn usp_stack_table_get(table: *mut usp_stack_table, number: u64, record: *mut usp_stack_record) -> c_int;
    pub fn usp_stack_table_get_statistics(table: *mut usp_stack_table, statistics: *mut usp_stack_table_statistics);
    pub fn usp_stack_table_numbers(table: *mut usp_stack_table, numbers: *mut u64, capacity: usize) -> usize;
    pub fn usp_stack_table_options_init(options: *mut usp_stack_table_options);
    pub fn usp_stack_table_release(table: *mut usp_stack_table, record: *mut usp_stack_record);
    pub fn usp_status_string(status: c_int) -> *const c_char;
    pub fn usp_stop_reason_string(stop: u32) -> *const c_char;
    pub fn usp_strategy_string(strategy: u32) -> *const c_char;
    pub fn usp_symbolize(symbolizer: *mut usp_symbolizer, address: usp_addr, symbol: *mut usp_symbol) -> c_int;
    pub fn usp_symbolize_frame(symbolizer: *mut usp_symbolizer, arch: u32, frame: *const usp_frame, symbol: *mut usp_symbol) -> c_int;
    pub fn usp_symbolize_frame_lines(symbolizer: *mut usp_symbolizer, arch: u32, frame: *const usp_frame, lines: *mut usp_lines) -> c_int;
    pub fn usp_symbolize_image(symbolizer: *mut usp_symbolizer, image: *const usp_image, address: usp_addr, symbol: *mut usp_symbol) -> c_int;
    pub fn usp_symbolize_lines(symbolizer: *mut usp_symbolizer, address: usp_addr, lines: *mut usp_lines) -> c_int;
    pub fn usp_symbolize_places(builds: *mut usp_builds, places: *const usp_place, answers: *mut usp_answer, count: usize) -> c_int;
    pub fn usp_symbolize_stack(symbolizer: *mut usp_symbolizer, stack: *const usp_stack, visit: usp_source_visitor, context: *mut c_void) -> c_int;
    pub fn usp_symbolizer_create(images: *const usp_images, options: *const usp_symbolizer_options, symbolizer: *mut *mut usp_symbolizer) -> c_int;
    pub fn usp_symbolizer_create_for_snapshot(snapshot: *const usp_snapshot, options: *const usp_symbolizer_options, symbolizer: *mut *mut usp_symbolizer) -> c_int;
    pub fn usp_symbolizer_default() -> *mut usp_symbolizer;
    pub fn usp_symbolizer_explain_file(symbolizer: *mut usp_symbolizer, address: usp_addr, text: *mut c_char, size: usize) -> c_int;
    pub fn usp_symbolizer_explain_lines(symbolizer: *mut usp_symbolizer, address: usp_addr, text: *mut c_char, size: usize) -> c_int;
    pub fn usp_symbolizer_free(symbolizer: *mut usp_symbolizer);
    pub fn usp_symbolizer_get_usage(symbolizer: *mut usp_symbolizer, usage: *mut usp_symbolizer_usage) -> c_int;
    pub fn usp_symbolizer_options_init(options: *mut usp_symbolizer_options);
    pub fn usp_symbolizer_trim(symbolizer: *mut usp_symbolizer);
    pub fn usp_symbolizer_visit(symbolizer: *mut usp_symbolizer, address: usp_addr, visit: usp_symbol_visitor, context: *mut c_void) -> c_int;
    pub fn usp_symbolizer_visit_names(symbolizer: *mut usp_symbolizer, address: usp_addr, visit: usp_name_visitor, context: *mut c_void) -> c_int;
    pub fn usp_target_init(target: *mut usp_target, arch: u32);
    pub fn usp_task_state_string(state: u32) -> *const c_char;
    pub fn usp_task_wait_string(wait: u32) -> *const c_char;
    pub fn usp_tasks_create(snapshot: *const usp_snapshot, options: *const usp_tasks_options, tasks: *mut *mut usp_tasks, error: *mut c_char, error_size: usize) -> c_int;
    pub fn usp_tasks_free(tasks: *mut usp_tasks);
    pub fn usp_tasks_get(tasks: *const usp_tasks, i: usize) -> *const usp_task;
    pub fn usp_tasks_get_info(tasks: *const usp_tasks) -> *const usp_tasks_info;
    pub fn usp_tasks_options_init(options: *mut usp_tasks_options);
    pub fn usp_thread_from_pthread(pthread: usize, thread: *mut usp_thread) -> c_int;
    pub fn usp_thread_main(thread: *mut usp_thread) -> c_int;
    pub fn usp_thread_prepare() -> c_int;
    pub fn usp_thread_release(thread: *mut usp_thread);
    pub fn usp_thread_self(thread: *mut usp_thread) -> c_int;
    pub fn usp_threads(infos: *mut usp_thread_info, capacity: usize, count: *mut usize) -> c_int;
    pub fn usp_unwind(target: *const usp_target, registers: *const usp_registers, options: *const usp_unwind_options, stack: *mut usp_stack) -> c_int;
    pub fn usp_unwind_options_init(options: *mut usp_unwind_options);
    pub fn usp_variant_from_string(name: *const c_char) -> u32;
    pub fn usp_variant_string(arch: u32, variant: u32) -> *const c_char;
    pub fn usp_version() -> u32;
    pub fn usp_version_string() -> *const c_char;
    pub fn usp_write_fd(context: *mut c_void, bytes: *const c_char, n: usize) -> c_int;
}
