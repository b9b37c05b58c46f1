"""Formulas of losses as programs: read, made stable in the tails, differentiated, evaluated, and written as JavaScript.

A formula is the text that a loss declares, such as ``log(1 + exp(-z))``. It is a Python expression of ``z``, the
parameters of the loss and the functions below, in which ``^`` is a power. Nothing else is ever executed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _sigmoid(u: Array) -> Array:
    value: Array = np.exp(-np.logaddexp(0, -u))
    return value


def _steeper(a: Array, b: Array, of_a: Array, of_b: Array) -> Array:
    return np.where(a > b, of_a, np.where(a < b, of_b, (of_a + of_b) / 2))


@dataclass(frozen=True)
class _Function:
    """A function of u: its name in JavaScript, its values, and its derivative as a formula."""

    javascript: str
    values: Callable[..., Any]
    derivative: str = ""


_FUNCTIONS = {
    "exp": _Function("Math.exp", np.exp, "exp(u)"),
    "expm1": _Function("Math.expm1", np.expm1, "exp(u)"),
    "log": _Function("Math.log", np.log, "1/u"),
    "sqrt": _Function("Math.sqrt", np.sqrt, "0.5/sqrt(u)"),
    "abs": _Function("Math.abs", np.abs, "sign(u)"),
    "sign": _Function("Math.sign", np.sign, "0"),
    "sin": _Function("Math.sin", np.sin, "cos(u)"),
    "cos": _Function("Math.cos", np.cos, "-sin(u)"),
    "tanh": _Function("Math.tanh", np.tanh, "4*sigmoid(2*u)*sigmoid(-2*u)"),
    "atan": _Function("Math.atan", np.arctan, "1/(1 + u^2)"),
    "softplus": _Function("softplus", lambda u: np.logaddexp(0, u), "sigmoid(u)"),
    "sigmoid": _Function("sigmoid", _sigmoid, "sigmoid(u)*sigmoid(-u)"),
    # These take two arguments or more; the derivative is that of one of the arguments.
    "max": _Function("Math.max", np.maximum),
    "min": _Function("Math.min", np.minimum),
    # steeper(a, b, a', b') is the derivative of max(a, b): at a corner, the mean of both sides.
    "steeper": _Function("steeper", _steeper),
}
_READ = _FUNCTIONS.keys() - {"steeper"}  # what a formula may call

JAVASCRIPT = """\
const softplus = (u) => Math.max(u, 0) + Math.log1p(Math.exp(-Math.abs(u)));
const sigmoid = (u) => (u < 0 ? Math.exp(u) / (1 + Math.exp(u)) : 1 / (1 + Math.exp(-u)));
const steeper = (a, b, ofA, ofB) => (a > b ? ofA : a < b ? ofB : (ofA + ofB) / 2);
"""


@dataclass(frozen=True)
class Formula:
    """A formula of z and parameters.

    Examples
    --------
    >>> hinge = Formula.read("max(0, 1 - z)")
    >>> hinge(np.array([0.0, 3.0]))
    array([1., 0.])
    >>> hinge.derivative()(np.array([0.0, 1.0, 3.0]))
    array([-1. , -0.5,  0. ])
    >>> Formula.read("log(1 + exp(-a*z))", ("a",)).javascript()
    'softplus(((-p_a) * z))'
    """

    tree: ast.expr

    @classmethod
    def read(cls, text: str, parameters: tuple[str, ...] = ()) -> Formula:
        """Return the formula in a text, in a form that stays accurate far from z = 0.

        Examples
        --------
        >>> Formula.read("1/(1 + exp(z))")(np.array([1e4]))
        array([0.])
        >>> Formula.read("2 z")
        Traceback (most recent call last):
            ...
        ValueError: not a formula of z: 2 z
        """
        try:
            tree = ast.parse(text.replace("^", "**"), mode="eval").body
        except SyntaxError:
            raise ValueError(f"not a formula of z: {text}") from None
        _check(tree, {"z", *parameters} - _FUNCTIONS.keys())
        return cls(_Stable().visit(tree))

    def derivative(self) -> Formula:
        """Return the derivative with respect to z.

        Examples
        --------
        >>> Formula.read("(1 - z)^2").derivative()(np.array([3.0]))
        array([4.])
        """
        return Formula(_derivative(self.tree))

    def __call__(self, z: Array, parameters: Mapping[str, float] | None = None) -> Array:
        """Evaluate the formula."""
        functions = {name: function.values for name, function in _FUNCTIONS.items()}
        program = compile(ast.fix_missing_locations(ast.Expression(self.tree)), "formula", "eval")
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            value = eval(program, {"__builtins__": {}}, {**(parameters or {}), **functions, "z": z})
        return np.broadcast_to(np.asarray(value, dtype=np.float64), np.shape(z)).copy()

    def javascript(self) -> str:
        """Return the formula as an expression in JavaScript, for use below ``JAVASCRIPT``.

        A parameter ``a`` is called ``p_a`` there, so that no parameter has the name of a word of the language.

        Examples
        --------
        >>> Formula.read("max(0, 1 - z)^2").javascript()
        '(Math.max(0, (1 - z)) ** 2)'
        """
        return _written(self.tree)


def _check(tree: ast.expr, names: set[str]) -> None:
    """Refuse everything but arithmetic, numbers, known names and calls of known functions."""
    match tree:
        case ast.Constant(int() | float()) if not isinstance(tree.value, bool):
            return None
        case ast.Name(name) if name in names:
            return None
        case ast.UnaryOp(ast.USub() | ast.UAdd(), inner):
            return _check(inner, names)
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow(), right):
            _check(left, names)
            return _check(right, names)
        case ast.Call(ast.Name(name), [_, *others] as arguments, []) if name in _READ and (
            bool(others) == (name in ("max", "min"))
        ):
            for argument in arguments:
                _check(argument, names)
            return None
    raise ValueError(
        f"a formula holds numbers, {', '.join(sorted(names))}, + - * / ^ and {', '.join(sorted(_READ))}, "
        f"got {ast.unparse(tree)}"
    )


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _one_plus_exp(tree: ast.expr) -> ast.expr | None:
    """Return u if the tree is 1 + exp(u), else None."""
    match tree:
        case ast.BinOp(ast.Constant(1), ast.Add(), ast.Call(ast.Name("exp"), [u])):
            return u
        case ast.BinOp(ast.Call(ast.Name("exp"), [u]), ast.Add(), ast.Constant(1)):
            return u
    return None


class _Stable(ast.NodeTransformer):
    """Write formulas so that they keep their digits in the tails.

    log(1 + exp(u)) becomes softplus(u), a/(1 + exp(u))^n becomes a sigmoid(-u)^n, and 1 - exp(u) becomes -expm1(u).
    Also, max(a, b, c) becomes max(a, max(b, c)), which can be differentiated.
    """

    def visit_Call(self, node: ast.Call) -> ast.expr:
        arguments: list[ast.expr] = [self.visit(argument) for argument in node.args]
        match node.func, arguments:
            case ast.Name("log"), [inner] if (u := _one_plus_exp(inner)) is not None:
                return _call("softplus", u)
            case ast.Name("max" | "min" as name), [first, second, third, *others]:
                return _call(name, first, self.visit(_call(name, second, third, *others)))
        return ast.Call(node.func, arguments, [])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        match node.op, right:
            case ast.Sub(), ast.Call(ast.Name("exp"), [exponent]) if _is(left, 1):
                return _minus(_call("expm1", exponent))
            case ast.Div(), ast.BinOp(base, ast.Pow(), power) if (u := _one_plus_exp(base)) is not None:
                return _times(left, _power(_call("sigmoid", _minus(u)), power))
            case ast.Div(), _ if (u := _one_plus_exp(right)) is not None:
                return _times(left, _call("sigmoid", _minus(u)))
        return ast.BinOp(left, node.op, right)


def _number(value: float) -> ast.expr:
    return ast.Constant(value)


def _is(tree: ast.expr, value: float) -> bool:
    return isinstance(tree, ast.Constant) and tree.value == value


# Zeros and ones are left out of sums and products: 0 times infinity would be NaN where the true slope is 0.
def _plus(left: ast.expr, right: ast.expr) -> ast.expr:
    if _is(left, 0):
        return right
    return left if _is(right, 0) else ast.BinOp(left, ast.Add(), right)


def _minus(inner: ast.expr) -> ast.expr:
    match inner:
        case ast.UnaryOp(ast.USub(), operand):
            return operand
        case ast.Constant(value):
            return ast.Constant(-value)  # type: ignore[operator]
    return ast.UnaryOp(ast.USub(), inner)


def _times(left: ast.expr, right: ast.expr) -> ast.expr:
    if _is(left, 0) or _is(right, 0):
        return _number(0)
    if _is(left, 1):
        return right
    return left if _is(right, 1) else ast.BinOp(left, ast.Mult(), right)


def _power(base: ast.expr, power: ast.expr) -> ast.expr:
    if _is(power, 0):
        return _number(1)
    return base if _is(power, 1) else ast.BinOp(base, ast.Pow(), power)


def _derivative(tree: ast.expr) -> ast.expr:
    match tree:
        case ast.Name("z"):
            return _number(1)
        case ast.Constant() | ast.Name():
            return _number(0)
        case ast.UnaryOp(ast.USub(), inner):
            return _minus(_derivative(inner))
        case ast.UnaryOp(_, inner):
            return _derivative(inner)
        case ast.BinOp(left, op, right):
            return _of_operation(left, op, right)
        case ast.Call(ast.Name("max"), [a, b]):
            return _call("steeper", a, b, _derivative(a), _derivative(b))
        case ast.Call(ast.Name("min"), [a, b]):
            return _call("steeper", b, a, _derivative(a), _derivative(b))
        case ast.Call(ast.Name(name), [u]):
            outer = ast.parse(_FUNCTIONS[name].derivative.replace("^", "**"), mode="eval").body
            return _times(_Substitute(u).visit(outer), _derivative(u))
    raise AssertionError(ast.dump(tree))


def _of_operation(left: ast.expr, op: ast.operator, right: ast.expr) -> ast.expr:
    of_left, of_right = _derivative(left), _derivative(right)
    match op:
        case ast.Add():
            return _plus(of_left, of_right)
        case ast.Sub():
            return _plus(of_left, _minus(of_right))
        case ast.Mult():
            return _plus(_times(of_left, right), _times(left, of_right))
        case ast.Div() if isinstance(right, ast.BinOp) and _is_sum_with(left, right):
            # For f/(f + g): f' g/(f + g) - f/(f + g) g', over f + g. The usual rule would subtract equal numbers.
            part, rest = ast.BinOp(left, ast.Div(), right), ast.BinOp(right.right, ast.Div(), right)
            numerator = _plus(_times(of_left, rest), _minus(_times(part, _derivative(right.right))))
            return _number(0) if _is(numerator, 0) else ast.BinOp(numerator, ast.Div(), right)
        case ast.Div():
            quotient = ast.BinOp(left, ast.Div(), right)
            numerator = _plus(of_left, _minus(_times(quotient, of_right)))
            return _number(0) if _is(numerator, 0) else ast.BinOp(numerator, ast.Div(), right)
    lower = ast.BinOp(right, ast.Sub(), _number(1))
    if isinstance(right, ast.Constant):
        lower = ast.Constant(right.value - 1)  # type: ignore[operator,assignment]
    from_base = _times(_times(right, _power(left, lower)), of_left)
    return _plus(from_base, _times(_times(ast.BinOp(left, op, right), _call("log", left)), of_right))


def _is_sum_with(part: ast.expr, total: ast.BinOp) -> bool:
    return isinstance(total.op, ast.Add) and ast.dump(total.left) == ast.dump(part)


class _Substitute(ast.NodeTransformer):
    """Replace u by an expression."""

    def __init__(self, expression: ast.expr) -> None:
        self.expression = expression

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.expression if node.id == "u" else node


_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


def _written(tree: ast.expr) -> str:
    match tree:
        case ast.Constant(value):
            return repr(value) if value >= 0 else f"({value!r})"  # type: ignore[operator]
        case ast.Name(name):
            return name if name == "z" else f"p_{name}"
        case ast.UnaryOp(op, inner):
            return f"({'-' if isinstance(op, ast.USub) else '+'}{_written(inner)})"
        case ast.BinOp(left, op, right):
            return f"({_written(left)} {_OPERATORS[type(op)]} {_written(right)})"
        case ast.Call(ast.Name(name), arguments):
            return f"{_FUNCTIONS[name].javascript}({', '.join(map(_written, arguments))})"
    raise AssertionError(ast.dump(tree))
