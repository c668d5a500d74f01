"""Kernels that do not count the owners of the arrays they are given.

Numba counts the owners of an array, and each view of one is an owner for a moment: two
atomic additions, which cost more than the dot product of a short row. The arguments of
a kernel live as long as its call, so that nobody needs to count who looks at them.
Arrays that a kernel makes itself are counted: where a loop takes views of them, another
kernel has the loop, and is given them.
"""

from contextlib import suppress

from numba import types
from numba.core import cgutils
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering
from numba.np.arrayobj import make_array

# What is raised where the parts of Numba are not as we know them: it goes on as usual.
_UNKNOWN_PARTS = AttributeError, TypeError, NotImplementedError


class _BorrowingLower(Lower):
    """Generates functions that begin by forgetting the owners of their arguments."""

    def lower_function_body(self):
        with suppress(*_UNKNOWN_PARTS):
            if self._keeps_nothing():
                self.fnargs = [
                    _without_owner(self.context, self.builder, *argument)
                    for argument in zip(self.fndesc.argtypes, self.fnargs, strict=True)
                ]
        return super().lower_function_body()

    def _keeps_nothing(self) -> bool:
        """Whether no argument, nor a view of one, can outlive the call.

        What is returned has to have its owner, and so has what is put into a list, or
        lies in a generator.
        """
        if self.generator_info is not None or self._counts_owners(self.fndesc.restype):
            return False
        return not any(map(self._is_container, self.fndesc.argtypes))

    def _is_container(self, kind) -> bool:
        """Whether arrays could be put into an argument; some are none but look it."""
        if isinstance(kind, types.BaseTuple):
            return any(map(self._is_container, kind))
        return not isinstance(kind, types.Array) and self._counts_owners(kind)

    def _counts_owners(self, kind) -> bool:
        return self.context.data_model_manager[kind].contains_nrt_meminfo()


@register_pass(mutates_CFG=True, analysis_only=False)
class _BorrowingLowering(NativeLowering):
    _name = "borrowing_lowering"

    @property
    def lowering_class(self):
        """What generates the code."""
        return _BorrowingLower


class BorrowingCompiler(Compiler):
    """Numba's compiler, but for the owners of arguments."""

    def define_pipelines(self):
        """Numba's passes, with another one that generates code."""
        pipelines = super().define_pipelines()
        with suppress(*_UNKNOWN_PARTS):
            for passes in pipelines:
                passes.passes[:] = [
                    (_BorrowingLowering if kind is NativeLowering else kind, text)
                    for kind, text in passes.passes
                ]
                passes.finalize()
        return pipelines


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
