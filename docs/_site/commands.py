"""The directive `commands`: every command of the program, from its own --help.

Options that several commands share are described once, at the end.
"""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

#: Options with the same description in at least this many commands are described once.
SHARED = 4


@dataclass
class Help:
    """The parsed help of a command."""

    name: str
    about: list = field(default_factory=list)
    usage: str = ""
    #: Heading -> [(option, description)].
    groups: dict = field(default_factory=dict)
    examples: str = ""
    #: The text after the examples.
    notes: list = field(default_factory=list)


def ask(program, *arguments):
    # The text must not depend on the terminal.
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True, env=environment).stdout


def paragraphs(text):
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def parse(name, text):
    parsed = Help(name)
    head, _, rest = text.partition("\nUsage: ")
    parsed.about = paragraphs(head)
    usage, _, rest = rest.partition("\n")
    parsed.usage = usage
    # A heading is a line at the margin that ends with a colon.
    parts = re.split(r"^([A-Z][^\n]*):\n", "\n" + rest, flags=re.M)
    for heading, body in zip(parts[1::2], parts[2::2]):
        if heading.startswith("Example"):
            examples, _, notes = body.partition("\n\n")
            parsed.examples, parsed.notes = inner(examples), paragraphs(notes)
        else:
            parsed.groups[heading] = items(body)
    return parsed


def inner(text):
    return "\n".join(line[2:] if line.startswith("  ") else line for line in text.rstrip().splitlines())


def items(body):
    found = []
    # An item starts at two or six spaces; its description follows on the same line or indented.
    for line in body.splitlines():
        begin = re.match(r" {2}(?: {4})?(?=[-<\w])(\S.*?)(?: {2,}(\S.*))?$", line)
        if begin and not line.startswith(" " * 7):
            found.append([begin[1], [begin[2] or ""]])
        elif found:
            found[-1][1].append(line.strip())
    return [(name, " ".join(" ".join(lines).split())) for name, lines in found]


class Commands(SphinxDirective):
    """All commands, one section each."""

    def run(self):
        program = self.config.stepwell_program
        if not Path(program).exists():
            raise ExtensionError(f"no program at {program}: build it (cargo build --release) or name one in STEPWELL")
        self.env.note_dependency(program)
        summary = ask(program, "--help")
        names = [name for name, _ in parse("", summary).groups["Commands"] if name != "help"]
        helps = [parse(name, ask(program, name, "--help")) for name in names]
        shared = self.shared(helps)
        sections = [self.command(each, shared) for each in helps]
        for heading, options in shared.items():
            title = "Options of most commands" if heading == "Options" else f"{heading} options"
            section = self.section(f"shared-{heading.lower()}", title)
            section += self.listed(options)
            sections.append(section)
        return sections

    @staticmethod
    def shared(helps):
        counts = {}
        for each in helps:
            for heading, options in each.groups.items():
                for option in options:
                    counts.setdefault(heading, {}).setdefault(option, 0)
                    counts[heading][option] += 1
        often = {
            heading: [option for option, count in options.items() if count >= SHARED]
            for heading, options in counts.items()
            if heading != "Arguments"
        }
        return {heading: options for heading, options in often.items() if options}

    def command(self, each, shared):
        section = self.section(f"stepwell-{each.name}", f"stepwell {each.name}")
        section += [nodes.paragraph("", text) for text in each.about]
        section += nodes.literal_block(each.usage, each.usage, language="text")
        for heading, options in each.groups.items():
            own = [option for option in options if option not in shared.get(heading, [])]
            if own:
                section += nodes.rubric("", heading)
                section += self.listed(own)
        used = [heading for heading, options in each.groups.items() if set(options) & set(shared.get(heading, []))]
        if used:
            also = nodes.paragraph("", "See also: ")
            for at, heading in enumerate(used):
                name = "options of most commands" if heading == "Options" else f"{heading.lower()} options"
                also += nodes.Text(", " if at else "")
                also += nodes.reference("", name, internal=True, refid=f"shared-{heading.lower()}")
            also += nodes.Text(".")
            section += also
        if each.examples:
            section += nodes.literal_block(each.examples, each.examples, language="console")
        section += [nodes.paragraph("", text) for text in each.notes]
        return section

    def section(self, anchor, title):
        section = nodes.section(ids=[anchor])
        section += nodes.title("", title)
        self.state.document.note_explicit_target(section)
        return section

    def listed(self, options):
        all_of_them = nodes.definition_list(classes=["options"])
        for name, text in options:
            item = nodes.definition_list_item()
            item += nodes.term("", "", nodes.literal("", name))
            item += nodes.definition("", nodes.paragraph("", text))
            all_of_them += item
        return all_of_them


def setup(app):
    app.add_config_value("stepwell_program", "stepwell", "env")
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
