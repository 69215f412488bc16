"""IR and PTX as HTML, for notebooks: no scripts, no style sheets, nothing from a network."""
import html
import re

# Every token; the group that matched names its colour.
_TOKEN = re.compile(r"""
    (?P<comment>;[^\n]*|//[^\n]*|/\*.*?\*/)
  | (?P<string>"[^"\n]*")
  | (?P<name>[%@$][\w.$]+|[%@]"[^"\n]*")
  | (?P<directive>(?<![\w)\]])\.[a-z]\w*|![\w.]*)
  | (?P<number>(?<![\w.])-?(?:0[xXfFdD][0-9a-fA-F]+|\d+(?:\.\d*)?(?:e[+-]?\d+)?)\b)
  | (?P<type>\b(?:void|half|bfloat|float|double|fp128|ptr|label|metadata|token|i\d+)\b)
  | (?P<word>\b[a-z][\w]*(?:\.[\w:]+)*)
""", re.VERBOSE | re.DOTALL)
# Dark enough on white, light enough on black.
_STYLE = {"comment": "color:#7a8290;font-style:italic", "string": "color:#3f9142", "name": "color:#4a7fd6", "directive": "color:#a05fc0",
          "number": "color:#c77a1a", "type": "color:#a05fc0", "word": "font-weight:bold"}
LINES = 400  #: lines that are shown


def highlighted(text: str) -> str:
    """The text in a `<pre>`; long texts are cut."""
    lines = text.split("\n")
    rest = len(lines) - LINES
    if rest > 0:
        text = "\n".join(lines[:LINES])
    parts, at = [], 0
    for token in _TOKEN.finditer(text):
        parts.append(html.escape(text[at:token.start()]))
        parts.append(f'<span style="{_STYLE[token.lastgroup]}">{html.escape(token.group())}</span>')
        at = token.end()
    parts.append(html.escape(text[at:]))
    more = f"\n… {rest} more lines" if rest > 0 else ""
    return f'<pre style="line-height:1.3;overflow-x:auto">{"".join(parts)}{more}</pre>'
