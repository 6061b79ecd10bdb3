//! Cells of Arrow tables as text.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use fasttl_core::format::time::iso;
use fasttl_core::tables::Table;

/// One cell as text; a null is `-`, so that it is not taken for an empty text.
pub(crate) fn cell(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return "-".to_owned();
    }
    match column.data_type() {
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Float64 => format!("{:.4}", column.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        DataType::Timestamp(..) => iso(column.as_primitive::<TimestampMicrosecondType>().value(row)),
        DataType::Utf8View => column.as_string_view().value(row).replace('\n', "\\n"),
        DataType::Utf8 => column.as_string::<i32>().value(row).replace('\n', "\\n"),
        DataType::Dictionary(..) => {
            let names = column.as_dictionary::<UInt32Type>();
            let key = names.keys().value(row) as usize;
            cell(names.values(), key)
        }
        DataType::List(_) => {
            let values = column.as_list::<i32>().value(row);
            let texts: Vec<String> = (0..values.len()).map(|at| cell(&values, at)).collect();
            format!("[{}]", texts.join("; "))
        }
        other => panic!("a column of type {other}"),
    }
}

/// A column by name.
pub(crate) fn column<'t>(table: &'t Table, name: &str) -> &'t ArrayRef {
    table.batch.column_by_name(name).unwrap_or_else(|| panic!("no column {name} in {}", table.name))
}
