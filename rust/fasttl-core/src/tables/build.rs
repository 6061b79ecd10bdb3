//! Builds Arrow tables column by column.
//!
//! Free text is `StringView` and names that repeat are dictionaries: both cross to polars without a copy.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, ListBuilder, PrimitiveBuilder, StringDictionaryBuilder, StringViewBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::SCHEMA_VERSION;
use crate::error::{Error, ErrorKind, Result};

/// A finished table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its rows.
    pub batch: RecordBatch,
}

/// A column's name, type and meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Arrow type, such as `Int64` or `Timestamp(us, "UTC")`.
    pub data_type: String,
    /// Meaning and unit.
    pub about: String,
}

impl Table {
    /// The columns, in order.
    pub fn columns(&self) -> Vec<Column> {
        let schema = self.batch.schema();
        let column = |field: &Arc<Field>| Column {
            name: field.name().clone(),
            data_type: field.data_type().to_string(),
            about: field.metadata().get(ABOUT).cloned().unwrap_or_default(),
        };
        schema.fields().iter().map(column).collect()
    }
}

const ABOUT: &str = "about";

/// Takes rows and, column by column, how a cell comes from a row.
pub(crate) struct TableBuilder<'r, R> {
    rows: &'r [R],
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
    /// The columns that are built; all when `None`.
    only: Option<&'r [String]>,
}

impl<'r, R> TableBuilder<'r, R> {
    /// A table over `rows`, without columns yet.
    pub(crate) fn new(rows: &'r [R]) -> Self {
        Self { rows, fields: Vec::new(), arrays: Vec::new(), only: None }
    }

    /// Builds only columns of these names; the others cost nothing.
    pub(crate) fn only(self, names: &'r [String]) -> Self {
        Self { only: Some(names), ..self }
    }

    fn leaves_out(&self, name: &str) -> bool {
        self.only.is_some_and(|names| !names.iter().any(|wanted| wanted == name))
    }

    fn add(mut self, name: &str, about: &str, array: ArrayRef) -> Self {
        let about = HashMap::from([(ABOUT.to_owned(), about.to_owned())]);
        self.fields.push(Field::new(name, array.data_type().clone(), true).with_metadata(about));
        self.arrays.push(array);
        self
    }

    fn primitive<T: ArrowPrimitiveType>(
        self,
        name: &str,
        about: &str,
        data_type: Option<DataType>,
        get: impl Fn(&'r R) -> Option<T::Native>,
    ) -> Self {
        if self.leaves_out(name) {
            return self;
        }
        let mut builder = PrimitiveBuilder::<T>::with_capacity(self.rows.len());
        if let Some(data_type) = data_type {
            builder = builder.with_data_type(data_type);
        }
        for row in self.rows {
            builder.append_option(get(row));
        }
        self.add(name, about, Arc::new(builder.finish()))
    }

    /// A column of 32-bit integers.
    pub(crate) fn i32(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<i32>) -> Self {
        self.primitive::<Int32Type>(name, about, None, get)
    }

    /// A column of 64-bit integers.
    pub(crate) fn i64(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<i64>) -> Self {
        self.primitive::<Int64Type>(name, about, None, get)
    }

    /// A column of unsigned 32-bit integers.
    pub(crate) fn u32(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<u32>) -> Self {
        self.primitive::<UInt32Type>(name, about, None, get)
    }

    /// A column of unsigned 64-bit integers.
    pub(crate) fn u64(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<u64>) -> Self {
        self.primitive::<UInt64Type>(name, about, None, get)
    }

    /// A column of floating-point numbers.
    pub(crate) fn f64(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<f64>) -> Self {
        self.primitive::<Float64Type>(name, about, None, get)
    }

    /// A column of times: microseconds since 1970, UTC.
    pub(crate) fn time(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<i64>) -> Self {
        let data_type = DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, Some("UTC".into()));
        self.primitive::<TimestampMicrosecondType>(name, about, Some(data_type), get)
    }

    /// A column of truth values.
    pub(crate) fn bool(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<bool>) -> Self {
        if self.leaves_out(name) {
            return self;
        }
        let mut builder = BooleanBuilder::with_capacity(self.rows.len());
        for row in self.rows {
            builder.append_option(get(row));
        }
        self.add(name, about, Arc::new(builder.finish()))
    }

    /// A column of free text.
    pub(crate) fn text(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<Cow<'r, str>>) -> Self {
        if self.leaves_out(name) {
            return self;
        }
        let mut builder = StringViewBuilder::with_capacity(self.rows.len());
        for row in self.rows {
            builder.append_option(get(row));
        }
        self.add(name, about, Arc::new(builder.finish()))
    }

    /// A column of names that repeat.
    pub(crate) fn name(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<Cow<'r, str>>) -> Self {
        if self.leaves_out(name) {
            return self;
        }
        let mut builder = StringDictionaryBuilder::<UInt32Type>::new();
        for row in self.rows {
            // Fails only past four billion distinct names; such a cell is null.
            match get(row) {
                Some(text) if builder.append(text.as_ref()).is_ok() => {}
                _ => builder.append_null(),
            }
        }
        self.add(name, about, Arc::new(builder.finish()))
    }

    /// A column of lists of text.
    pub(crate) fn texts(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<Vec<String>>) -> Self {
        if self.leaves_out(name) {
            return self;
        }
        let mut builder = ListBuilder::new(StringViewBuilder::new());
        for row in self.rows {
            let texts = get(row);
            for text in texts.iter().flatten() {
                builder.values().append_value(text);
            }
            builder.append(texts.is_some());
        }
        self.add(name, about, Arc::new(builder.finish()))
    }

    /// A column of lists of 32-bit integers.
    pub(crate) fn ints(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<Vec<i32>>) -> Self {
        if self.leaves_out(name) {
            return self;
        }
        let mut builder = ListBuilder::new(PrimitiveBuilder::<Int32Type>::new());
        for row in self.rows {
            let list = get(row);
            builder.values().append_slice(list.as_deref().unwrap_or_default());
            builder.append(list.is_some());
        }
        self.add(name, about, Arc::new(builder.finish()))
    }

    /// A column of lists of lists of 32-bit integers.
    pub(crate) fn int_lists(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<Vec<Vec<i32>>>) -> Self {
        if self.leaves_out(name) {
            return self;
        }
        let mut builder = ListBuilder::new(ListBuilder::new(PrimitiveBuilder::<Int32Type>::new()));
        for row in self.rows {
            let lists = get(row);
            for list in lists.iter().flatten() {
                builder.values().values().append_slice(list);
                builder.values().append(true);
            }
            builder.append(lists.is_some());
        }
        self.add(name, about, Arc::new(builder.finish()))
    }

    /// The finished table.
    pub(crate) fn finish(self, name: &'static str) -> Result<Table> {
        let metadata = HashMap::from([
            ("schema_version".to_owned(), SCHEMA_VERSION.to_owned()),
            ("table".to_owned(), name.to_owned()),
        ]);
        let schema: SchemaRef = Arc::new(Schema::new_with_metadata(self.fields, metadata));
        // A table may be asked for no column at all, and still has its rows.
        let rows = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        let internal = |e| Error::new(ErrorKind::Internal, format!("table {name} could not be built: {e}"));
        Ok(Table { name, batch: RecordBatch::try_new_with_options(schema, self.arrays, &rows).map_err(internal)? })
    }
}
