"""HTML read strictly: a tag that closes another is an error."""

import re
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Tree(HTMLParser):
    """Elements as (name, attributes, text inside), and an error where tags do not match."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.open = [], []
        self.feed(page)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, name, attributes):
        names = [key for key, _ in attributes]
        assert len(names) == len(set(names)), f"<{name}> has an attribute twice: {names}"
        element = (name, dict(attributes), [])
        self.elements.append(element)
        if name not in VOID:
            self.open.append(element)

    def handle_endtag(self, name):
        assert self.open, f"</{name}> closes nothing"
        assert self.open[-1][0] == name, f"</{name}> closes <{self.open[-1][0]}>"
        self.open.pop()

    def handle_data(self, data):
        for _, _, text in self.open:
            text.append(data)

    def all(self, name, **wanted):
        """Return attributes and text of the elements with a name and with a class among others."""
        return [
            (attributes, "".join(text))
            for found, attributes, text in self.elements
            if found == name
            and all(value in attributes.get(key.rstrip("_"), "").split() for key, value in wanted.items())
        ]


def texts(page):
    """Return what a reader without tooltips sees, without the embedded JSON."""
    return " ".join(
        re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style|title)\b.*?</\1>", "", page, flags=re.DOTALL)).split()
    )
