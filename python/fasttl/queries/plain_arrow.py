"""Arrow tables without views and unsigned dictionaries, for readers that do not know these types yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def without_views(table: pa.Table) -> pa.Table:
    """Give a table with ``large_string`` for ``string_view``, and names with signed numbers; meanings stay."""
    import pyarrow as pa  # noqa: PLC0415 - see the head of the package

    fields = [field.with_type(_plain(field.type)) for field in table.schema]
    return table.cast(pa.schema(fields, metadata=table.schema.metadata))


def _plain(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa  # noqa: PLC0415 - as above

    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), kind.value_type)
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([kind.field(i).with_type(_plain(kind.field(i).type)) for i in range(kind.num_fields)])
    return kind
