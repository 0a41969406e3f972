"""For the reference: what a setting means stands in its declaration, and there is its default."""

import ast
from typing import Any

import griffe


class DeclaredSettings(griffe.Extension):
    """Lets the help of a `setting(default, help, …)` be its docstring, and its default its value."""

    def on_attribute_instance(self, *, node: ast.AST | griffe.ObjectNode, attr: griffe.Attribute, **_: Any) -> None:
        declared = getattr(node, "value", None)
        if not (isinstance(declared, ast.Call) and ast.unparse(declared.func) == "setting"):
            return
        assert isinstance(attr.value, griffe.ExprCall)
        attr.value = attr.value.arguments[0]
        attr.docstring = griffe.Docstring(ast.literal_eval(declared.args[1]), parent=attr)
