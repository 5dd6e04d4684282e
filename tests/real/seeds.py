# SPDX-License-Identifier: MIT
"""The programs that are stepped: Debian's, for each processor, and our own torture.cc."""

import os
from dataclasses import dataclass, field

# Debian's names of processors, of their libraries' folders and of their emulators.
PROCESSORS = {
    "amd64": ("x86_64-linux-gnu", None),
    "i386": ("i386-linux-gnu", None),
    "arm64": ("aarch64-linux-gnu", "qemu-aarch64"),
    "armhf": ("arm-linux-gnueabihf", "qemu-arm"),
}

# The prefix of the cross compilers.
COMPILERS = {"amd64": "x86_64-linux-gnu", "i386": "i686-linux-gnu", "arm64": "aarch64-linux-gnu",
             "armhf": "arm-linux-gnueabihf"}

SCRIPT = r"""
f() { local i; for i in 1 2 3; do x="$x$i"; case $x in a*) echo no ;; esac; done; }
f; g=$(echo "${x//1/2}" | sed s/1/2/); trap 'echo usr' USR1; kill -USR1 $$
declare -A m; m[a]=1; for k in "${!m[@]}"; do echo "$k ${m[$k]}"; done
[[ abc =~ ^a(.)c$ ]] && echo ${BASH_REMATCH[1]}; printf '%s %d\n' x 10; shopt -s extglob; echo /usr/*(b)in /etc/p*d
"""

PYTHON = r"""
import json, re, collections
def down(n): return sorted([2, 1], key=lambda x: x + (down(n - 1)[0] if n else 0))
class C:
    def __getattr__(self, name): return name * 2
try: {}["no"]
except KeyError as e: print(repr(e), down(3), C().abc)
print(json.dumps(json.loads('[3, {"a": 1.5}]')), re.sub("a+", "b", "caat"), collections.Counter("abca"), f"{3.14159:.2f}")
print(sum(i * i for i in range(50)), 2 ** 200 // 3 ** 50, "ä".encode("utf-8"))
"""

PERL = r"""
my %h; for (1 .. 50) { $h{$_ % 7} .= "x$_" }
sub f { my $n = shift; return $n ? join(",", map { f($n - 1) } 1 .. 2) : "x" }
print join(",", map { s/x1/y/gr } sort values %h), sprintf("%.3f %s %s", 3.14159, "a" x 5, f(3));
eval { die { code => 3 } }; print $@->{code}, "\n"; local $SIG{USR1} = sub { print "usr\n" }; kill USR1 => $$;
"""

JAVASCRIPT = r"""
function down(n) { return n > 0 ? [1, 2].map(x => x + down(n - 1)[0]) : [0]; }
try { null.x } catch (e) { console.log(e.message, down(4)); }
console.log(JSON.parse('[3,{"a":1.5}]'), "caat".replace(/a+/, "b"), [3, 1, 2].sort((a, b) => a - b), new Map([[1, 2]]));
"""

SQL = r"""
create table t (a integer primary key, b text, c real);
insert into t (b, c) values ('x', 1.5), ('y', 2.5), ('z', 3.5);
create index i on t (b);
select b, sum(c) over (order by a), upper(b) || printf('%05.2f', c) from t where b between 'x' and 'z' order by c desc;
with recursive r(n) as (select 1 union all select n + 1 from r where n < 20) select group_concat(n) from r;
"""

C = r"""
struct s { int a; struct s *n; double d[4]; };
extern int puts(const char *), printf(const char *, ...);
static int g(const char *t) { int n = 0; while (*t) n = n * 31 + *t++; return n; }
int f(struct s *x, int k) {
    int r = 0;
    for (; x; x = x->n) {
        switch (k) { case 1: r += x->a; break; case 2: r *= 3; break; case 7: r ^= k; break; case 9: r = g("abc") + k; default: r -= 2; }
    }
    return r;
}
int main(int c, char **v) {
    struct s a = {1, 0, {1, 2, 3, 4}}, b = {2, &a, {0}};
    printf("%d %s\n", f(&b, c), v[0]);
    for (int i = 0; i < c; i++) b.d[i & 3] *= a.d[(i + 1) & 3];
    return (int)b.d[2];
}
"""

TEXT = "".join(f"line {i} of a text with the number {i * i % 97}\n" for i in range(200))

FILES = {"script.sh": SCRIPT, "script.py": PYTHON, "script.pl": PERL, "script.js": JAVASCRIPT, "script.sql": SQL,
         "program.i": C, "text": TEXT, "other": TEXT.replace("number 4", "figure 4")}


@dataclass
class Seed:
    name: str
    program: str  # in the folder of the processor's packages; {build}: where torture.cc was compiled to
    arguments: list = field(default_factory=list)
    package: str = ""
    input: str = ""  # one of FILES
    environment: dict = field(default_factory=dict)
    options: list = field(default_factory=list)  # of the stepper


SEEDS = [
    Seed("bash", "bin/bash", ["script.sh"], "bash"),
    Seed("python3", "usr/bin/python3.11", ["-S", "script.py"], "python3-minimal", environment={"PYTHONHOME": "{root}/usr"}),
    Seed("perl", "usr/bin/perl", ["script.pl"], "perl-base"),
    Seed("cc1", "usr/lib/gcc/*/12/cc1", ["-quiet", "-O2", "-fpreprocessed", "program.i", "-o", "/dev/null"], "cpp-12"),
    Seed("clang", "usr/lib/llvm-14/bin/clang", ["-cc1", "-O2", "-S", "-x", "cpp-output", "program.i", "-o", "/dev/null"],
         "clang-14"),
    Seed("openssl dgst", "usr/bin/openssl", ["dgst", "-sha256", "text"], "openssl"),
    Seed("openssl enc", "usr/bin/openssl", ["enc", "-aes-256-cbc", "-pbkdf2", "-iter", "20", "-k", "word", "-in", "text"],
         "openssl"),
    Seed("openssl genpkey", "usr/bin/openssl", ["genpkey", "-algorithm", "ED25519"], "openssl"),
    Seed("gpg", "usr/bin/gpg", ["--homedir", "home", "--batch", "--print-mds", "text"], "gpg"),
    Seed("sqlite3", "usr/bin/sqlite3", [":memory:"], "sqlite3", input="script.sql"),
    Seed("node", "usr/bin/node", ["script.js"], "nodejs"),
    Seed("xz", "usr/bin/xz", ["-c", "-9", "text"], "xz-utils"),
    Seed("git", "usr/bin/git", ["--no-pager", "diff", "--no-index", "--stat", "-p", "text", "other"], "git"),
    Seed("rg (Rust)", "usr/bin/rg", ["-j1", "-n", "n[uo].*7$", "text"], "ripgrep"),
    Seed("fzf (Go)", "usr/bin/fzf", ["-f", "line 7"], "fzf", input="text"),
    Seed("torture -O0", "{build}/torture-O0"),
    Seed("torture -O2", "{build}/torture-O2"),
    Seed("torture -Os", "{build}/torture-Os"),
    Seed("torture clang -O2", "{build}/torture-clang-O2"),
    Seed("torture clang -Oz", "{build}/torture-clang-Oz"),
    Seed("loader", "usr/bin/xz", ["--version"], "xz-utils", options=["--all"]),
]


# The sample: minimum percentage of judged stacks that must be right, with the unwind tables that exist and without any.
# The measured value was 100 where the floor is 99.9, and 0.2 higher elsewhere, when this was written.
FLOORS = {
    "bash": {"amd64": (99.9, 99.9), "i386": (99.9, 99.7), "arm64": (99.9, 99.9), "armhf": (99.9, 99.9)},
    "openssl dgst": {"amd64": (99.9, 99.9), "i386": (99.9, 99.6), "arm64": (99.9, 99.9), "armhf": (99.9, 99.9)},
    "xz": {"amd64": (99.9, 99.9), "i386": (99.9, 99.6), "arm64": (99.9, 99.9), "armhf": (99.9, 99.9)},
    "rg (Rust)": {"amd64": (99.9, 99.9), "i386": (99.9, 99.6), "arm64": (99.9, 99.9), "armhf": (99.9, 99.9)},
    "fzf (Go)": {"amd64": (99.9, 99.9), "i386": (99.9, 99.3), "arm64": (99.6, 99.9), "armhf": (99.9, 99.9)},
    "torture clang -Oz": {"amd64": (99.9, 99.9), "i386": (99.9, 97.3), "arm64": (99.9, 99.9), "armhf": (99.9, 99.9)},
}


def chosen(is_sample):
    return [s for s in SEEDS if not is_sample or s.name in FLOORS]


def packages(is_sample):
    """What the seeds need of each processor, beside what those packages depend on."""
    return sorted({s.package for s in chosen(is_sample) if s.package} | {"libstdc++6", "libgcc-s1"})


def libraries(root, processor):
    """Where a native program of that processor finds its libraries. The loader's own libc comes first: the two are of one
    version."""
    triple = PROCESSORS[processor][0]
    own = {"i386": ["/lib32"], "amd64": ["/lib/x86_64-linux-gnu"]}[processor]
    return ":".join(own + [os.path.join(root, "lib", triple), os.path.join(root, "usr/lib", triple)])
