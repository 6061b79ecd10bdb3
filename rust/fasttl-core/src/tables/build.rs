//! Builds Arrow tables column by column.
//!
//! Free text is `StringView` and names that repeat are dictionaries: both cross to polars without a copy.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, ListBuilder, PrimitiveBuilder, StringViewBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, DictionaryArray, RecordBatch, RecordBatchOptions, StringArray, UInt32Array, new_null_array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::SCHEMA_VERSION;
use crate::error::{Error, ErrorKind, Result};
use crate::format::payload::md5_digits;

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

/// A column that is still to be made.
struct Pending<'r> {
    name: String,
    about: String,
    make: Box<dyn FnOnce() -> ArrayRef + Send + 'r>,
}

/// Takes rows and, column by column, how a cell comes from a row. The columns are made side by side.
pub(crate) struct TableBuilder<'r, R> {
    rows: &'r [R],
    columns: Vec<Pending<'r>>,
    /// The columns that are made; all when `None`.
    only: Option<&'r [String]>,
}

impl<'r, R: Sync> TableBuilder<'r, R> {
    /// A table over `rows`, without columns yet.
    pub(crate) fn new(rows: &'r [R]) -> Self {
        Self { rows, columns: Vec::new(), only: None }
    }

    /// Makes only columns of these names; the others cost nothing.
    pub(crate) fn only(self, names: &'r [String]) -> Self {
        Self { only: Some(names), ..self }
    }

    fn add(mut self, name: &str, about: &str, make: impl FnOnce(&'r [R]) -> ArrayRef + Send + 'r) -> Self {
        if self.only.is_some_and(|names| !names.iter().any(|wanted| wanted == name)) {
            return self;
        }
        let rows = self.rows;
        let make = Box::new(move || make(rows));
        self.columns.push(Pending { name: name.to_owned(), about: about.to_owned(), make });
        self
    }

    fn primitive<T: ArrowPrimitiveType>(
        self,
        name: &str,
        about: &str,
        data_type: Option<DataType>,
        get: impl Fn(&'r R) -> Option<T::Native> + Send + 'r,
    ) -> Self {
        self.add(name, about, move |rows| {
            let mut builder = PrimitiveBuilder::<T>::with_capacity(rows.len());
            if let Some(data_type) = data_type {
                builder = builder.with_data_type(data_type);
            }
            for row in rows {
                builder.append_option(get(row));
            }
            Arc::new(builder.finish())
        })
    }

    /// A column of 32-bit integers.
    pub(crate) fn i32(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<i32> + Send + 'r) -> Self {
        self.primitive::<Int32Type>(name, about, None, get)
    }

    /// A column of 64-bit integers.
    pub(crate) fn i64(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<i64> + Send + 'r) -> Self {
        self.primitive::<Int64Type>(name, about, None, get)
    }

    /// A column of unsigned 32-bit integers.
    pub(crate) fn u32(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<u32> + Send + 'r) -> Self {
        self.primitive::<UInt32Type>(name, about, None, get)
    }

    /// A column of unsigned 64-bit integers.
    pub(crate) fn u64(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<u64> + Send + 'r) -> Self {
        self.primitive::<UInt64Type>(name, about, None, get)
    }

    /// A column of floating-point numbers.
    pub(crate) fn f64(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<f64> + Send + 'r) -> Self {
        self.primitive::<Float64Type>(name, about, None, get)
    }

    /// A column of times: microseconds since 1970, UTC.
    pub(crate) fn time(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<i64> + Send + 'r) -> Self {
        let data_type = DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, Some("UTC".into()));
        self.primitive::<TimestampMicrosecondType>(name, about, Some(data_type), get)
    }

    /// A column of truth values.
    pub(crate) fn bool(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<bool> + Send + 'r) -> Self {
        self.add(name, about, move |rows| {
            let mut builder = BooleanBuilder::with_capacity(rows.len());
            for row in rows {
                builder.append_option(get(row));
            }
            Arc::new(builder.finish())
        })
    }

    /// A column of free text.
    pub(crate) fn text(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<Cow<'r, str>> + Send + 'r) -> Self {
        self.add(name, about, move |rows| {
            let mut builder = StringViewBuilder::with_capacity(rows.len());
            for row in rows {
                builder.append_option(get(row));
            }
            Arc::new(builder.finish())
        })
    }

    /// A column of md5s, as 32 hexadecimal digits.
    pub(crate) fn md5(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<[u8; 16]> + Send + 'r) -> Self {
        self.add(name, about, move |rows| {
            let mut builder = StringViewBuilder::with_capacity(rows.len());
            for row in rows {
                let digits = get(row).map(md5_digits);
                builder.append_option(digits.as_ref().and_then(|digits| std::str::from_utf8(digits).ok()));
            }
            Arc::new(builder.finish())
        })
    }

    /// A column of names that repeat.
    pub(crate) fn name(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<Cow<'r, str>> + Send + 'r) -> Self {
        self.add(name, about, move |rows| {
            let mut names = Dictionary::default();
            // Most names stand once in the index, and many rows borrow them from there.
            let mut seen: FxHashMap<(usize, usize), u32> = FxHashMap::default();
            let key = |row| match get(row)? {
                Cow::Borrowed(text) => Some(
                    *seen.entry((text.as_ptr().addr(), text.len())).or_insert_with(|| names.key(Cow::Borrowed(text))),
                ),
                owned @ Cow::Owned(_) => Some(names.key(owned)),
            };
            let keys: Vec<Option<u32>> = rows.iter().map(key).collect();
            names.array(keys)
        })
    }

    /// A column of names that repeat, of which equal `key`s have the same: a text is made once for each key.
    pub(crate) fn keyed_name<K: Eq + Hash>(
        self,
        name: &str,
        about: &str,
        key: impl Fn(&'r R) -> Option<K> + Send + 'r,
        text: impl Fn(&K) -> String + Send + 'r,
    ) -> Self {
        self.add(name, about, move |rows| {
            let mut names = Dictionary::default();
            let mut seen: FxHashMap<K, u32> = FxHashMap::default();
            let of = |row| {
                Some(match seen.entry(key(row)?) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(new) => {
                        let number = names.key(Cow::Owned(text(new.key())));
                        *new.insert(number)
                    }
                })
            };
            let keys: Vec<Option<u32>> = rows.iter().map(of).collect();
            names.array(keys)
        })
    }

    /// A column of lists of text.
    pub(crate) fn texts(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<Vec<String>> + Send + 'r) -> Self {
        self.add(name, about, move |rows| {
            let mut builder = ListBuilder::new(StringViewBuilder::new());
            for row in rows {
                let texts = get(row);
                for text in texts.iter().flatten() {
                    builder.values().append_value(text);
                }
                builder.append(texts.is_some());
            }
            Arc::new(builder.finish())
        })
    }

    /// A column of lists of 32-bit integers.
    pub(crate) fn ints(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<Vec<i32>> + Send + 'r) -> Self {
        self.add(name, about, move |rows| {
            let mut builder = ListBuilder::new(PrimitiveBuilder::<Int32Type>::new());
            for row in rows {
                let list = get(row);
                builder.values().append_slice(list.as_deref().unwrap_or_default());
                builder.append(list.is_some());
            }
            Arc::new(builder.finish())
        })
    }

    /// A column of lists of lists of 32-bit integers.
    pub(crate) fn int_lists(
        self,
        name: &str,
        about: &str,
        get: impl Fn(&'r R) -> Option<Vec<Vec<i32>>> + Send + 'r,
    ) -> Self {
        self.add(name, about, move |rows| {
            let mut builder = ListBuilder::new(ListBuilder::new(PrimitiveBuilder::<Int32Type>::new()));
            for row in rows {
                let lists = get(row);
                for list in lists.iter().flatten() {
                    builder.values().values().append_slice(list);
                    builder.values().append(true);
                }
                builder.append(lists.is_some());
            }
            Arc::new(builder.finish())
        })
    }

    /// The finished table.
    pub(crate) fn finish(self, name: &'static str) -> Result<Table> {
        let (labels, makers): (Vec<_>, Vec<_>) =
            self.columns.into_iter().map(|column| ((column.name, column.about), column.make)).unzip();
        let arrays: Vec<ArrayRef> = makers.into_par_iter().map(|make| make()).collect();
        let fields = labels.into_iter().zip(&arrays).map(|((name, about), array)| {
            let about = HashMap::from([(ABOUT.to_owned(), about)]);
            Field::new(name, array.data_type().clone(), true).with_metadata(about)
        });
        let fields: Vec<Field> = fields.collect();
        let metadata = HashMap::from([
            ("schema_version".to_owned(), SCHEMA_VERSION.to_owned()),
            ("table".to_owned(), name.to_owned()),
        ]);
        let schema: SchemaRef = Arc::new(Schema::new_with_metadata(fields, metadata));
        // Without columns the number of rows still counts.
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        let internal = |e| Error::new(ErrorKind::Internal, format!("table {name} could not be built: {e}"));
        Ok(Table { name, batch: RecordBatch::try_new_with_options(schema, arrays, &options).map_err(internal)? })
    }
}

/// The names of a column, each once.
#[derive(Default)]
struct Dictionary<'r> {
    numbers: FxHashMap<Cow<'r, str>, u32>,
    names: Vec<Cow<'r, str>>,
}

impl<'r> Dictionary<'r> {
    /// The number of a name. There are never more names than rows, and never four billion rows.
    fn key(&mut self, name: Cow<'r, str>) -> u32 {
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let Self { numbers, names } = self;
        *numbers.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            next
        })
    }

    fn array(self, keys: Vec<Option<u32>>) -> ArrayRef {
        let values = StringArray::from_iter_values(self.names);
        let keys = UInt32Array::from(keys);
        match DictionaryArray::try_new(keys, Arc::new(values)) {
            Ok(array) => Arc::new(array),
            // Numbers beyond the names cannot come from `key`.
            Err(_) => new_null_array(&DataType::Dictionary(DataType::UInt32.into(), DataType::Utf8.into()), 0),
        }
    }
}
