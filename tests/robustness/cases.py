"""Sources that try to break the compiler. Each is bytes, with the codes that must be among its findings.

No code at all means that the file is right as it stands: strange, but right.
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD = 'name: odd\nversion: "1.0.0"\n'
STEP = "  - {id: build, type: shell, command: make}\n"
RIGHT = f"{HEAD}steps:\n{STEP}"


@dataclass(frozen=True)
class Case:
    name: str
    data: bytes
    codes: frozenset[str]
    says: str
    """Something that a finding must say; empty where there is none."""
    heavy: bool
    """Large enough for time and memory to be measured."""

    def __str__(self) -> str:
        return self.name


def _case(name: str, source: str | bytes, *codes: str, says: str = "", heavy: bool = False) -> Case:
    data = source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass")
    return Case(name, data, frozenset(codes), says, heavy)


def shell(command: str) -> str:
    """A workflow of one step with that command, in double quotes."""
    return f'{HEAD}steps:\n  - id: build\n    type: shell\n    command: "{command}"\n'


def value(text: str) -> str:
    """A workflow that returns that YAML value."""
    return f"{HEAD}steps:\n  - id: done\n    type: return\n    value: {text}\n"


def named(*ids: str) -> str:
    """A workflow with a step of each id."""
    steps = "".join(f"  - id: {name}\n    type: shell\n    command: make\n" for name in ids)
    return f"{HEAD}steps:\n{steps}"


def alias_bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return RIGHT + "\n".join(lines) + "\n"


def merge_bomb(mappings: int) -> str:
    """Each mapping merges the one before it and adds a key: quadratic in what it makes."""
    lines = ["m0: &m0 {k0: 0}"]
    lines += [f"m{n}: &m{n} {{<<: *m{n - 1}, k{n}: {n}}}" for n in range(1, mappings)]
    return RIGHT + "\n".join(lines) + "\n"


def merge_list_bomb(size: int) -> str:
    """One long list of merged mappings after another: 80 KB that would become millions of entries."""
    base = "base: &base {" + ", ".join(f"k{n}: {n}" for n in range(size)) + "}\n"
    merges = "".join(f"m{n}: &m{n} {{<<: [{', '.join(['*base'] * 10)}], own{n}: 1}}\n" for n in range(size))
    return RIGHT + base + merges


def nested_conditions(levels: int) -> str:
    lines = [f"{HEAD}inputs:\n  go: {{type: boolean, required: true}}\nsteps:"]
    for n in range(levels):
        pad = "  " * (n * 2 + 1)
        lines.append(
            f'{pad}- id: c{n}\n{pad}  type: condition\n{pad}  if: "{{{{ inputs.go }}}}"\n{pad}  then:'
        )
    lines.append("  " * (levels * 2 + 1) + "- {id: deep, type: shell, command: make}")
    return "\n".join(lines) + "\n"


def joined(form: str, count: int) -> str:
    return ", ".join(form.format(number) for number in range(count))


def updates(count: int) -> str:
    return f"{HEAD}steps:\n  - {{id: a, type: set_state, updates: {{{joined('f{}: 1', count)}}}}}\n"


def waiting_blocks(count: int, each: int) -> str:
    blocks = (
        f"  - {{id: b{n}, type: Shell, inputs: {{command: make}}, "
        f"depends_on: [{', '.join(f'b{one}' for one in range(max(0, n - each), n))}]}}\n"
        for n in range(count)
    )
    return f"name: odd\ndescription: Odd.\nblocks:\n{''.join(blocks)}"


PYTHON_NAMES = (
    "import",
    "class",
    "None",
    "match",
    "type",
    "_",
    "__init__",
    "lambda",
    "print",
    "self",
    "running",
)
LIBRARY_NAMES = (
    "send", "states", "model", "name", "initial", "completed", "failed", "cancelled", "finished", "steps", "fields",
    "inputs", "error_x", "error_execution", "configuration", "events", "done_state_running", "submit", "recover",
    "retry", "State", "Machine", "Workflow",
)  # fmt: skip

CASES = [
    _case(
        "100,000 braces that are only text",
        f"{HEAD}steps:\n  - {{id: a, type: delegate, instructions: '{{% raw %}}{'{{' * 50_000}{'{#' * 50_000}"
        "{% endraw %}'}\n",
        heavy=True,
    ),
    _case(
        "10,000 unknown fields in a list",
        f"{HEAD}steps:\n  - {{id: a, type: shell, command: x, needs_state: [{joined('f{}', 10_000)}]}}\n",
        "WF303",
        heavy=True,
    ),
    _case("1,000 updates of one step", updates(1000), heavy=True),
    _case(
        "10,000 updates of one step",
        updates(10_000),
        "WF010",
        says="has 10,000 inputs and state fields; at most 2,000 are allowed",
        heavy=True,
    ),
    _case(
        "10,000 inputs",
        RIGHT + f"inputs: {{{joined('i{}: {{type: string, default: x}}', 10_000)}}}\n",
        "WF010",
        says="at most 2,000 are allowed",
        heavy=True,
    ),
    _case(
        "20,000 codes to hide",
        RIGHT + f"odd: 1 # wfc: ignore[{joined('WF001', 20_000)}]\n",
        "WF004",
        "WF704",
        heavy=True,
    ),
    _case("400 blocks that wait for 50 each", waiting_blocks(400, 50), heavy=True),
    _case(
        "100,000 nested brackets",
        RIGHT + "deep: " + "[" * 100_000,
        "WF010",
        says="nested more than",
        heavy=True,
    ),
    _case(
        "100,000 nested brackets, all closed",
        RIGHT + "deep: " + "[" * 100_000 + "]" * 100_000,
        "WF010",
        heavy=True,
    ),
    _case("100,000 nested braces", RIGHT + "deep: " + "{a: " * 100_000, "WF010", heavy=True),
    _case("100,000 nested dashes", RIGHT + "deep:\n  " + "- " * 100_000 + "x\n", "WF010", heavy=True),
    _case("100,000 brackets in a command", shell("[" * 100_000), heavy=True),
    _case("alias bomb", alias_bomb(12), "WF010", says="aliases expanded", heavy=True),
    _case("a chain of 1,500 merges", merge_bomb(1500), "WF010", heavy=True),
    _case("80 KB of merge keys", merge_list_bomb(900), "WF010", heavy=True),
    _case("50 MB", RIGHT + "# " + "x" * 50_000_000, "WF010", says="more than 1,048,576 bytes", heavy=True),
    _case("a line of 1 MB", RIGHT + "# " + "x" * 1_000_000, heavy=True),
    _case("a million empty lines", RIGHT + "\n" * 1_000_000, heavy=True),
    _case("invalid UTF-8", RIGHT.encode() + b"# \xff\xfe\x80", "WF001", says="not valid UTF-8"),
    _case("only invalid bytes", bytes(range(128, 256)) * 20, "WF001", says="not valid UTF-8"),
    _case("UTF-16", RIGHT.encode("utf-16"), "WF001", says="UTF-16"),
    _case("UTF-32", RIGHT.encode("utf-32"), "WF001", says="UTF-32"),
    _case("UTF-16 without a mark", RIGHT.encode("utf-16-le"), "WF001", says="NUL"),
    _case("NUL bytes", RIGHT + "# \0\0", "WF001", says="NUL"),
    _case("nothing but NUL", b"\0" * 1000, "WF001", says="NUL"),
    _case("a picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 4, "WF001"),
    _case("a byte order mark", b"\xef\xbb\xbf" + RIGHT.encode()),
    _case("a byte order mark inside", RIGHT + "# \ufeff", "WF001", says="byte order mark"),
    _case("CRLF", RIGHT.replace("\n", "\r\n")),
    _case("CR only", RIGHT.replace("\n", "\r")),
    _case("tabs for indentation", RIGHT.replace("  -", "\t-"), "WF001", says="tab"),
    _case("an empty file", b"", "WF005", says="the file is empty"),
    _case("white space only", " \n\n   \n", "WF005", says="the file is empty"),
    _case("comments only", "# nothing\n# here\n", "WF005", says="only comments"),
    _case("a list at the top", "- a\n- b\n", "WF005", says="a workflow is a mapping"),
    _case("text at the top", "just text", "WF005", says="a workflow is a mapping"),
    _case("a number at the top", "42\n", "WF005"),
    _case("null at the top", "~\n", "WF005"),
    _case("an empty mapping", "{}\n", "WF005"),
    _case("a tag", value("!!python/object/apply:os.system [ls]"), "WF001", says="tags are not supported"),
    _case("a tag on the whole", "!workflow\n" + RIGHT, "WF001", says="tags are not supported"),
    _case("a tag that makes a set", value("!!set {a, b}"), "WF001", says="tags are not supported"),
    _case("an anchor and an alias", value("[&x 1, *x]")),
    _case("an alias that means nothing", value("*nowhere"), "WF001", says="there is no anchor"),
    _case(
        "an alias inside what it refers to",
        value("&x [1, *x]"),
        "WF001",
        says="inside the value that it refers to",
    ),
    _case("an alias inside a step that it refers to", f"{HEAD}steps: &s\n{STEP}  - *s\n", "WF001"),
    _case("a merge key", value("{<<: {a: 1}, b: 2}")),
    _case("a merge of itself", value("&x {<<: *x}"), "WF001"),
    _case("a merge of text", value("{<<: text}"), "WF001", says="merges a mapping"),
    _case("two documents", RIGHT + "---\n" + RIGHT, "WF001", says="second document"),
    _case(
        "ten thousand documents", RIGHT + "---\na: 1\n" * 10_000, "WF001", says="second document", heavy=True
    ),
    _case("a directive", "%YAML 1.1\n---\n" + RIGHT),
    _case("an unknown directive", "%FOO bar\n---\n" + RIGHT, "WF001", says="directive"),
    _case("a bare date", value("2024-01-02"), "WF003", says="a date in YAML 1.1"),
    _case("a date for a version", RIGHT.replace('"1.0.0"', "2024-01-02"), "WF003"),
    _case("a bare time", value("12:30:45"), "WF003"),
    _case("a number for a version", RIGHT.replace('"1.0.0"', "1.0"), "WF006"),
    _case("on and off", f"{HEAD}on: push\nsteps:\n{STEP}", "WF004"),
    _case("off as a value", value("off"), "WF003"),
    _case("an id that YAML 1.1 calls a boolean", named("on"), "WF003"),
    _case("an id that is null", named("~"), "WF006"),
    _case("an id that is a list", named("[a]"), "WF006"),
    _case("a key that is a list", RIGHT + "[a, b]: 1\n", "WF001", says="key"),
    _case("a key that is null", RIGHT + "~: 1\n", "WF001", says="key"),
    _case("a key that is a mapping", RIGHT + "{a: 1}: 1\n", "WF001", says="key"),
    _case("an empty key", RIGHT + "'': 1\n", "WF004"),
    _case("an id of 10,000 characters", named("x" * 10_000), "WF006", says="100 characters"),
    _case("a key of 10,000 characters", RIGHT + "k" * 10_000 + ": 1\n", "WF001"),
    _case("a quoted key of 900 characters", RIGHT + '"' + "k" * 900 + '": 1\n', "WF004"),
    _case("an id with a line break", named('"a\\nb"'), "WF006"),
    _case("an id in Cyrillic", named("сборка"), "WF006"),
    _case("an id of emoji", named("🚀"), "WF006"),
    _case("an empty id", named('""'), "WF006"),
    _case("ids of one character", named("a", "b", '"1"', "_x")),
    _case("ids that are Python names", named(*PYTHON_NAMES)),
    _case("ids that are names of the library", named(*LIBRARY_NAMES)),
    _case("ids of 100 characters", named("a" * 100, "b" * 100)),
    _case("a workflow called import", RIGHT.replace("odd", "import")),
    _case("a workflow called like a class of ours", RIGHT.replace("odd", "workflow-state")),
    _case("a workflow called like a path", RIGHT.replace("odd", '"../../etc/passwd"'), "WF006"),
    _case(
        "1,000 nested parentheses", shell("{{ " + "(" * 1000 + "1" + ")" * 1000 + " }}"), "WF201", heavy=True
    ),
    _case("100,000 open parentheses", shell("{{ " + "(" * 100_000 + " }}"), "WF201", heavy=True),
    _case("100,000 minus signs", shell("{{ " + "-" * 100_000 + "1 }}"), "WF201", heavy=True),
    _case(
        "10,000 nested lists in a template",
        shell("{{ " + "[" * 10_000 + "]" * 10_000 + " }}"),
        "WF201",
        heavy=True,
    ),
    _case("10,000 filters", shell("{{ 1" + " | int" * 10_000 + " }}"), "WF201", heavy=True),
    _case("10,000 attributes", shell("{{ inputs" + ".a" * 10_000 + " }}"), "WF201", heavy=True),
    _case("10,000 additions", shell("{{ 1" + " + 1" * 10_000 + " }}"), "WF201", heavy=True),
    _case(
        "2,000 ifs inside each other",
        shell("{% if true %}" * 2000 + "{% endif %}" * 2000),
        "WF201",
        heavy=True,
    ),
    _case(
        "a bomb for constant folding",
        shell("{{ 'a' * 10 ** 9 }} {{ 9 ** 9 ** 9 }} {{ range(10 ** 9) | list }}"),
    ),
    _case("20,000 templates in one text", shell("{{ 1 }}" * 20_000), "WF201", says="too long", heavy=True),
    _case("20,000 openings", shell("{{" * 20_000), "WF201", heavy=True),
    _case("a template of 1 MB", shell("{{ '" + "x" * 1_000_000 + "' }}"), "WF201", heavy=True),
    _case("a text of 1 MB", shell("x " * 500_000), heavy=True),
    _case("a file just below the limit", shell("x" * 1_048_000), heavy=True),
    _case("10,000 steps", named(*(f"s{n}" for n in range(10_000))), "WF010", heavy=True),
    _case("1,000 steps", named(*(f"s{n}" for n in range(1000))), heavy=True),
    _case("the same id 1,000 times", named(*["same"] * 1000), "WF101", heavy=True),
    _case("60 levels of conditions", nested_conditions(60), "WF010", heavy=True),
    _case("30 levels of conditions", nested_conditions(30), "WF010"),
    _case(
        "5,000 unknown fields", RIGHT + "".join(f"field{n}: 1\n" for n in range(5000)), "WF004", heavy=True
    ),
    _case("the same key 5,000 times", RIGHT + "same: 1\n" * 5000, "WF002", heavy=True),
    _case("a number of 5,000 digits", value("9" * 5000), "WF010"),
    _case("a number of 900 digits", value("9" * 900)),
    _case("a number too large for a float", value("1e999"), "WF006", says="JSON"),
    _case("a timeout without end", shell("make").rstrip("\n") + "\n    timeout: .inf\n", "WF006"),
    _case("a timeout that is no number", shell("make").rstrip("\n") + "\n    timeout: .nan\n", "WF006"),
    _case("a timeout of 900 digits", shell("make").rstrip("\n") + f"\n    timeout: {'9' * 900}\n", "WF006"),
    _case("numbers that JSON has no word for", value("[.nan, .inf, -.inf]"), "WF006", says="JSON"),
    _case("control characters in quotes", shell("a\\x01\\x07\\x1b[31m\\x7f\\u0085\\u2028\\u202e")),
    _case("a bare control character", RIGHT + "# \x01", "WF001", says="control character"),
    _case("a NUL in quotes", shell("a\\0b")),
    _case("half of a surrogate pair in quotes", shell("\\ud800"), "WF001"),
    _case("half of a surrogate pair as bytes", RIGHT + "# \ud800", "WF001"),
    _case("an escape beyond Unicode", shell("\\U00110000"), "WF001"),
    _case("text beyond the basic plane", shell("echo 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 🎉 ́̈")),
    _case("an unclosed quote", shell("make").rstrip('"\n') + "\n", "WF001"),
    _case("every step a different wrong type", f"{HEAD}steps: [1, text, [a], null, {{}}, true]\n", "WF006"),
    _case("steps that are text", f"{HEAD}steps: build\n", "WF006"),
    _case("everything is null", "name:\nversion:\ninputs:\ninitial_state:\nsteps:\ntasks:\n", "WF006"),
    _case(
        "everything is a list",
        "name: []\nversion: []\ninputs: []\ninitial_state: []\nsteps: []\ntasks: []\n",
        "WF006",
    ),
]
