"""Kernels that do not count the owners of the arrays they are given.

Numba counts the owners of an array, and each view of one is an owner for a moment: two
atomic additions, which cost more than the dot product of a short row. The arguments of
a kernel live as long as its call, so that nobody needs to count who looks at them.
Arrays that a kernel makes itself are counted: where a loop takes views of them, another
kernel has the loop, and is given them.
"""

from numba import types
from numba.core import cgutils
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering
from numba.np.arrayobj import make_array


class _BorrowingLower(Lower):
    """Generates functions that begin by forgetting the owners of their arguments."""

    def lower_function_body(self):
        # What is returned has to have its owner.
        if not _holds_array(self.fndesc.restype):
            self.fnargs = [
                _without_owner(self.context, self.builder, *argument)
                for argument in zip(self.fndesc.argtypes, self.fnargs, strict=True)
            ]
        return super().lower_function_body()


@register_pass(mutates_CFG=True, analysis_only=False)
class _BorrowingLowering(NativeLowering):
    _name = "borrowing_lowering"

    @property
    def lowering_class(self):
        """What generates the code."""
        return _BorrowingLower


class BorrowingCompiler(CompilerBase):
    """Numba's compiler, but for the owners of arguments."""

    def define_pipelines(self):
        """Numba's passes, with another one that generates code."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes[:] = [
            (_BorrowingLowering if kind is NativeLowering else kind, text)
            for kind, text in passes.passes
        ]
        passes.finalize()
        return [passes]


def _holds_array(kind) -> bool:
    if isinstance(kind, types.BaseTuple):
        return any(map(_holds_array, kind))
    return isinstance(kind, types.Array)


def _without_owner(context, builder, kind, value):
    """The same value, its arrays without what their owners are counted in."""
    if isinstance(kind, types.Array):
        array = make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts = [
            _without_owner(context, builder, part, builder.extract_value(value, i))
            for i, part in enumerate(kind)
        ]
        return context.make_tuple(builder, kind, parts)
    return value
