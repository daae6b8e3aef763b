"""A terminal in memory, and its screen as a picture."""

from html import escape

import pyte

# The sixteen colours by name, as a dark terminal has them.
NAMED = {
    "default": "#d8dee9", "black": "#2e3440", "red": "#e06c75", "green": "#98c379", "brown": "#e5c07b", "blue": "#61afef",
    "magenta": "#c678dd", "cyan": "#56b6c2", "white": "#d8dee9", "brightblack": "#7f8c98", "brightred": "#ff7b86",
    "brightgreen": "#b5e890", "brightyellow": "#ffd787", "brightblue": "#82c7ff", "brightmagenta": "#e29bf5",
    "brightcyan": "#7fdbe6", "brightwhite": "#ffffff",
}
PAPER = "#1b1f27"
NO_BREAK = "\N{NO-BREAK SPACE}"
# Of a monospaced font of this size.
SIZE, ADVANCE, LEADING = 14, 8.43, 18


class Terminal:
    """A screen that understands escape sequences."""

    def __init__(self, columns, rows):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)

    def feed(self, data):
        self.stream.feed(data)

    def text(self):
        return "\n".join(self.screen.display)

    def lines(self):
        """For each line its runs of one style: text, colour, and whether it is bold. Empty lines at the end are left out."""
        found = []
        for y in range(self.screen.lines):
            runs, row = [], self.screen.buffer[y]
            for x in range(self.screen.columns):
                cell = row[x]
                style = (colour(cell.fg), cell.bold)
                if runs and runs[-1][1:] == style:
                    runs[-1] = (runs[-1][0] + cell.data, *style)
                else:
                    runs.append((cell.data, *style))
            found.append(runs)
        while found and not "".join(text for text, *_ in found[-1]).strip():
            found.pop()
        return found


def colour(name):
    return NAMED.get(name) or f"#{name}"


def svg(command, lines, columns):
    """The screen below the command that was given."""
    prompt = [("$ ", NAMED["green"], True), (command, NAMED["default"], True)]
    lines = [prompt, *lines]
    width, height = columns * ADVANCE + 32, len(lines) * LEADING + 28
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
        f' role="img" aria-label="{escape(command)}">',
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>',
        f'<g font-family="\'DejaVu Sans Mono\', \'Cascadia Mono\', Menlo, Consolas, monospace" font-size="{SIZE}">',
    ]
    for row, runs in enumerate(lines):
        at, y = 0, row * LEADING + 28
        for text, fill, bold in runs:
            shown, start = text.rstrip(" "), at
            at += len(text)
            lead = len(shown) - len(shown.lstrip(" "))
            shown = shown.lstrip(" ")
            if not shown:
                continue
            x, length = 16 + (start + lead) * ADVANCE, len(shown) * ADVANCE
            weight = ' font-weight="700"' if bold else ""
            # The length keeps columns below each other in any font.
            parts.append(
                f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs" fill="{fill}"{weight}>'
                # Not every program keeps plain spaces.
                f"{escape(shown.replace(' ', NO_BREAK))}</text>"
            )
    return "\n".join([*parts, "</g>", "</svg>", ""])
