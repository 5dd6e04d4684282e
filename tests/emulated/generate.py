# SPDX-License-Identifier: MIT
"""Writes a random program for the emulator: functions of random shapes, the same for the same seed and
with the same checksum on every processor. It ends after a bounded time, because each function's cost is known before
another one calls it."""

import random

FUNCTIONS = 36
COST_MAX = 1500  # statements that one call of a function may take
TOTAL_MAX = 6000

PROLOGUE = """/* made by generate.py */
#include <stdarg.h>
#include <stdint.h>
#define NOINLINE __attribute__((noinline))
struct pair { unsigned a, b; };
struct large { unsigned v[12]; };
static volatile unsigned zero;
static volatile unsigned sink;
static unsigned counter;
__attribute__((noreturn)) NOINLINE static void fatal(unsigned x) { for (;;) sink += x; }
NOINLINE static unsigned sum(unsigned n, ...) {
    va_list ap;
    unsigned s = 0;
    va_start(ap, n);
    while (n-- > 0) s = s * 5 + va_arg(ap, unsigned);
    va_end(ap);
    return s;
}
"""

PARAMETERS = {"u": "unsigned", "q": "uint64_t", "d": "double", "b": "unsigned char", "p": "unsigned *",
              "s": "struct pair", "l": "struct large"}
RETURNS = {"u": "unsigned", "q": "uint64_t", "s": "struct pair", "l": "struct large", "d": "double", "v": "void"}


class Function:
    """A function's head; its body is written while others that come before it in the program can be called."""

    def __init__(self, rng, number):
        self.name = f"f{number}"
        self.result = rng.choice("uuuuuqslvd")
        self.parameters = [rng.choice("uuuuuqdbps" + ("l" if rng.random() < 0.2 else "u"))
                           for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4, 5, 7, 10]))]
        # Functions of one type can be called through a table and tail-called.
        if rng.random() < 0.5:
            self.result, self.parameters = "u", ["u", "u"]
        self.cost = 1

    def head(self):
        names = ", ".join(f"{PARAMETERS[t]} p{i}" for i, t in enumerate(self.parameters)) or "void"
        return f"NOINLINE static {RETURNS[self.result]} {self.name}({names})"


class Writer:
    """Writes one function's body."""

    def __init__(self, rng, function, callable_functions):
        self.rng, self.function, self.callable = rng, function, callable_functions
        self.lines, self.indent, self.loops, self.labels = [], 1, 1, 0
        self.numbers = [f"p{i}" for i, t in enumerate(function.parameters) if t in "uqb"]
        self.arrays, self.depth, self.has_goto = [], 0, False

    def put(self, line):
        self.lines.append("    " * self.indent + line)

    def pay(self, cost=1):
        self.function.cost += cost * self.loops

    def number(self, deep=0):
        """An expression of type unsigned."""
        rng = self.rng
        kind = rng.randrange(9 if deep < 3 else 3)
        if kind == 0:
            return f"{rng.choice([0, 1, 2, 3, 7, 31, 255, 1000, 65537, 0x9e3779b1])}u"
        if kind < 3 or not self.numbers:
            return f"(unsigned){rng.choice(self.numbers)}" if self.numbers else "counter"
        a, b = self.number(deep + 1), self.number(deep + 1)
        if kind == 3:
            return f"({a} {rng.choice(['/', '%'])} ({b} | 1u))"
        if kind == 4:
            return f"({a} {rng.choice(['<<', '>>'])} ({b} & 31u))"
        if kind == 5 and self.arrays:
            return f"(unsigned){rng.choice(self.arrays)}[{a} & 7u]"
        if kind == 6:
            return f"({a} {rng.choice(['<', '==', '!=', '>='])} {b} ? {self.number(deep + 1)} : {b})"
        return f"({a} {rng.choice(['+', '-', '*', '^', '|', '&'])} {b})"

    def argument(self, kind):
        if kind == "d":
            return f"(double)({self.number()} & 1023u) * 0.5"
        if kind == "p":
            return f"&{self.local}"
        if kind == "s":
            return f"(struct pair){{{self.number(2)}, {self.number(2)}}}"
        if kind == "l":
            return f"(struct large){{{{{self.number(2)}, {self.number(2)}}}}}"
        return self.number(1)

    def pick(self, same_type=False):
        """A function that can be called here without taking too long."""
        room = COST_MAX - self.function.cost
        fitting = [f for f in self.callable if f.cost * self.loops < room]
        if same_type:
            fitting = [f for f in fitting if f.result == "u" and f.parameters == ["u", "u"]]
        return self.rng.choice(fitting) if fitting else None

    def call(self):
        f = self.pick()
        if f is None:
            return self.number()
        self.pay(f.cost)
        text = f"{f.name}({', '.join(self.argument(t) for t in f.parameters)})"
        if f.result == "v":
            self.put(f"{text};")
            return "counter"
        return text + {"s": ".a", "l": f".v[{self.rng.randrange(12)}]"}.get(f.result, "")

    def assign(self):
        target = self.rng.choice([n for n in self.numbers if n[0] != "c"] or [self.local])
        self.put(f"{target} {self.rng.choice(['=', '+=', '^=', '-='])} {self.number()};")
        self.pay()

    def assign_call(self):
        self.put(f"{self.local} {self.rng.choice(['=', '+=', '^='])} (unsigned){self.call()};")
        self.pay()

    def block(self, count=None):
        self.indent += 1
        self.depth += 1
        saved = list(self.numbers), list(self.arrays)
        for _ in range(count or self.rng.randint(1, 4)):
            self.statement()
        self.numbers, self.arrays = saved
        self.depth -= 1
        self.indent -= 1

    def condition(self):
        self.put(f"if ({self.number()} {self.rng.choice(['<', '==', '>', '&'])} {self.number()}) {{")
        self.block()
        if self.rng.random() < 0.4:
            self.put("} else {")
            self.block()
        self.put("}")

    def loop(self):
        turns = self.rng.randint(2, 5)
        counter = f"c{self.labels}"
        self.labels += 1
        saved = self.loops
        self.loops *= turns
        form = self.rng.randrange(3)
        self.put(f"{{ unsigned {counter} = 0;")
        self.put([f"for (; {counter} < {turns}u; {counter}++) {{", f"while ({counter}++ < {turns}u) {{", "do {"][form])
        self.numbers.append(counter)
        self.block()
        if self.rng.random() < 0.4:
            self.put(f"    if ({self.number(1)} == {self.number(1)}) {self.rng.choice(['break', 'continue'])};"
                     if form != 2 else f"    if ({self.number(1)} == 9u) break;")
        self.put(["}", "}", f"}} while (++{counter} < {turns}u);"][form] + " }")
        self.numbers.remove(counter)
        self.loops = saved

    def switch(self):
        dense = self.rng.random() < 0.7
        count = self.rng.randint(3, 11)
        self.put(f"switch ({self.number()} {f'% {count + 1}u' if dense else '& 0xfffu'}) {{")
        values = range(count) if dense else sorted(self.rng.sample(range(0x1000), count))
        for value in values:
            self.put(f"case {value}u:")
            self.block(self.rng.randint(1, 2))
            if self.rng.random() < 0.8:
                self.put("    break;")
        self.put("default: break;")
        self.put("}")

    def computed_goto(self):
        base, count = self.labels, self.rng.randint(2, 5)
        self.has_goto = True
        self.labels += count + 1
        names = [f"l{base + i}" for i in range(count)]
        self.put("{")
        self.put(f"    static const void *const targets[] = {{{', '.join('&&' + n for n in names)}}};")
        self.put(f"    goto *targets[{self.number()} % {count}u + zero];")
        self.put("}")
        for name in names:
            self.put(f"{name}: ;")
            self.block(self.rng.randint(1, 2))
            if self.rng.random() < 0.6:
                self.put(f"    goto l{base + count};")
        self.put(f"l{base + count}: ;")

    def array(self):
        name = f"a{self.labels}"
        self.labels += 1
        form = self.rng.randrange(6)
        size = self.rng.choice([8, 9, 40, 300, 1500])
        if form == 0:
            self.put(f"unsigned *{name} = __builtin_alloca((({self.number()}) % 60u + 8u) * 4u);")
        elif form == 1:
            self.put(f"unsigned {name}[{self.number()} % 30u + 8u];")
        elif form == 2:
            self.put(f"_Alignas({self.rng.choice([32, 64, 256])}) unsigned {name}[{size}];")
        else:
            self.put(f"{self.rng.choice(['', 'volatile '])}unsigned {name}[{size}];")
        self.put(f"for (unsigned i = 0; i < 8; i++) {name}[i] = i * {self.number(2)};")
        self.arrays.append(name)
        self.pay(8)

    def early_return(self):
        self.put(f"if ({self.number()} == {self.number()}) {self.returned()}")

    def returned(self):
        kind = self.function.result
        if kind == "v":
            return "return;"
        if kind == "s":
            return f"return (struct pair){{{self.local}, {self.number(1)}}};"
        if kind == "l":
            return f"return (struct large){{{{{self.local}, {self.number(1)}}}}};"
        if kind == "d":
            return f"return (double)({self.local} & 4095u);"
        if kind == "u":
            f = self.pick(same_type=True)
            if f is not None and self.rng.random() < 0.4:
                self.pay(f.cost)
                return f"return {f.name}({self.local}, {self.number(1)});"
        return f"return {self.local};"

    def table_call(self):
        functions = [f for f in (self.pick(same_type=True) for _ in range(4)) if f is not None]
        if not functions:
            return self.assign()
        self.pay(max(f.cost for f in functions))
        name = f"t{self.labels}"
        self.labels += 1
        self.put(f"static unsigned (*const {name}[])(unsigned, unsigned) = "
                 f"{{{', '.join(f.name for f in functions)}}};")
        return self.put(f"{self.local} += {name}[{self.number()} % {len(functions)}u]({self.number(1)}, "
                        f"{self.number(1)});")

    def varargs_call(self):
        values = [f"(unsigned){self.number(1)}" for _ in range(self.rng.randint(1, 7))]
        self.put(f"{self.local} ^= sum({len(values)}u, {', '.join(values)});")
        self.pay(len(values))

    def statement(self):
        if self.depth > 3 or self.function.cost > COST_MAX:
            return self.assign()
        plain = [self.assign, self.assign, self.assign_call, self.assign_call, self.assign_call, self.early_return,
                 self.varargs_call, self.table_call]
        nested = [self.condition, self.condition, self.loop, self.switch]
        if self.depth == 0:
            nested += [self.array, self.array]
            # An indirect goto could reach another one's labels, past an array of variable length.
            nested += [self.computed_goto] if not self.has_goto else []
        if self.rng.random() < 0.05:
            return self.put(f"if (zero != 0) {self.rng.choice(['fatal(1u)', '__builtin_trap()'])};")
        if self.rng.random() < 0.05:
            return self.put(f"*(volatile unsigned *)&counter += {self.number(1)};")
        return self.rng.choice(plain + nested)()

    def write(self):
        self.local = "x"
        self.put(f"unsigned x = {self.number()};")
        self.numbers.append("x")
        for name, kind in [(f"p{i}", t) for i, t in enumerate(self.function.parameters)]:
            if kind == "d":
                self.put(f"x += (unsigned){name};")
            elif kind == "p":
                self.put(f"x ^= *{name}; *{name} += 3u;")
            elif kind == "s":
                self.put(f"x += {name}.a ^ {name}.b;")
            elif kind == "l":
                self.put(f"x += {name}.v[{self.rng.randrange(12)}];")
        for _ in range(self.rng.choice([0, 1, 2, 3, 4, 6, 9])):
            self.statement()
        if self.rng.random() < 0.1 and self.function.result == "u":
            self.put("if (zero == 0) return x;")
            self.put("fatal(x);")
        else:
            self.put(self.returned())
        return self.lines


def program(seed):
    """The source text of program number `seed`."""
    rng = random.Random(seed)
    done, bodies = [], []
    for number in range(FUNCTIONS):
        f = Function(rng, number)
        lines = Writer(rng, f, done[-14:]).write()
        bodies.append("\n".join([f.head() + " {"] + lines + ["}"]))
        done.append(f)
    calls, total = [], 0
    for f in done:
        if total + f.cost > TOTAL_MAX:
            continue
        total += f.cost
        writer = Writer(rng, Function(rng, 0), [])
        writer.local = "x"
        writer.numbers = ["x", "r"]
        arguments = ", ".join(writer.argument(t) for t in f.parameters)
        suffix = {"s": ".a", "l": ".v[1]"}.get(f.result, "")
        calls.append(f"        {'' if f.result == 'v' else 'x = x * 31u + (unsigned)'}{f.name}({arguments}){suffix};")
    return "\n\n".join([PROLOGUE + f"/* seed {seed} */", *bodies,
                        "unsigned usp_workload(unsigned rounds) {\n    unsigned x = 1;\n"
                        "    for (unsigned r = 0; r < rounds; r++) {\n" + "\n".join(calls) +
                        "\n        x += counter;\n    }\n    return x;\n}\n"])
