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
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, RecordBatchOptions, StringArray, new_null_array};
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

/// Rows that are looked at for one column after the other, while they are in the processor's cache.
const BLOCK: usize = 2048;

/// A column in the making.
trait Filling<'r, R>: Send {
    /// Adds the cells of further rows.
    fn add(&mut self, rows: &'r [R]);
    /// The column.
    fn finish(self: Box<Self>) -> ArrayRef;
}

/// A column whose cells are added one by one.
struct Cells<B, A, E> {
    builder: B,
    add: A,
    end: E,
}

impl<'r, R, B, A, E> Filling<'r, R> for Cells<B, A, E>
where
    R: 'r,
    B: Send,
    A: FnMut(&mut B, &'r R) + Send,
    E: FnOnce(B) -> ArrayRef + Send,
{
    fn add(&mut self, rows: &'r [R]) {
        for row in rows {
            (self.add)(&mut self.builder, row);
        }
    }

    fn finish(self: Box<Self>) -> ArrayRef {
        (self.end)(self.builder)
    }
}

/// A column that is still to be made.
struct Pending<'r, R> {
    name: String,
    about: String,
    cells: Box<dyn Filling<'r, R> + 'r>,
}

/// Takes rows and, column by column, how a cell comes from a row. The columns are made side by side.
pub(crate) struct TableBuilder<'r, R> {
    rows: &'r [R],
    columns: Vec<Pending<'r, R>>,
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

    /// A column whose cells go to a builder for as many as there are rows.
    fn add<B: Send + 'r>(
        mut self,
        name: &str,
        about: &str,
        builder: impl FnOnce(usize) -> B,
        add: impl FnMut(&mut B, &'r R) + Send + 'r,
        end: impl FnOnce(B) -> ArrayRef + Send + 'r,
    ) -> Self {
        if self.only.is_some_and(|names| !names.iter().any(|wanted| wanted == name)) {
            return self;
        }
        let cells = Box::new(Cells { builder: builder(self.rows.len()), add, end });
        self.columns.push(Pending { name: name.to_owned(), about: about.to_owned(), cells });
        self
    }

    fn primitive<T: ArrowPrimitiveType>(
        self,
        name: &str,
        about: &str,
        data_type: Option<DataType>,
        get: impl Fn(&'r R) -> Option<T::Native> + Send + 'r,
    ) -> Self {
        let builder = |rows| {
            let builder = PrimitiveBuilder::<T>::with_capacity(rows);
            match data_type {
                Some(data_type) => builder.with_data_type(data_type),
                None => builder,
            }
        };
        self.add(name, about, builder, move |b, row| b.append_option(get(row)), |mut b| Arc::new(b.finish()))
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
        let add = move |b: &mut BooleanBuilder, row| b.append_option(get(row));
        self.add(name, about, BooleanBuilder::with_capacity, add, |mut b| Arc::new(b.finish()))
    }

    /// A column of free text.
    pub(crate) fn text(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<Cow<'r, str>> + Send + 'r) -> Self {
        let add = move |b: &mut StringViewBuilder, row| b.append_option(get(row));
        self.add(name, about, StringViewBuilder::with_capacity, add, |mut b| Arc::new(b.finish()))
    }

    /// A column of md5s, as 32 hexadecimal digits.
    pub(crate) fn md5(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<[u8; 16]> + Send + 'r) -> Self {
        let add = move |b: &mut StringViewBuilder, row| {
            let digits = get(row).map(md5_digits);
            b.append_option(digits.as_ref().and_then(|digits| std::str::from_utf8(digits).ok()));
        };
        self.add(name, about, StringViewBuilder::with_capacity, add, |mut b| Arc::new(b.finish()))
    }

    /// A column of names that repeat.
    pub(crate) fn name(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<Cow<'r, str>> + Send + 'r) -> Self {
        // Most names stand once in the index, and many rows borrow them from there.
        let mut seen: FxHashMap<(usize, usize), u32> = FxHashMap::default();
        let add = move |b: &mut Dictionary<'r>, row| {
            let key = get(row).map(|text| match text {
                Cow::Borrowed(text) => {
                    *seen.entry((text.as_ptr().addr(), text.len())).or_insert_with(|| b.key(Cow::Borrowed(text)))
                }
                owned @ Cow::Owned(_) => b.key(owned),
            });
            b.keys.append_option(key);
        };
        self.add(name, about, Dictionary::with_capacity, add, Dictionary::finish)
    }

    /// A column of names that repeat, of which equal `key`s have the same: a text is made once for each key.
    pub(crate) fn keyed_name<K: Eq + Hash + Send + 'r>(
        self,
        name: &str,
        about: &str,
        key: impl Fn(&'r R) -> Option<K> + Send + 'r,
        text: impl Fn(&K) -> String + Send + 'r,
    ) -> Self {
        let mut seen: FxHashMap<K, u32> = FxHashMap::default();
        let add = move |b: &mut Dictionary<'r>, row| {
            let key = key(row).map(|key| match seen.entry(key) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    let number = b.key(Cow::Owned(text(new.key())));
                    *new.insert(number)
                }
            });
            b.keys.append_option(key);
        };
        self.add(name, about, Dictionary::with_capacity, add, Dictionary::finish)
    }

    /// A column of lists of text.
    pub(crate) fn texts(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<Vec<String>> + Send + 'r) -> Self {
        let builder = |_| ListBuilder::new(StringViewBuilder::new());
        let add = move |b: &mut ListBuilder<StringViewBuilder>, row| {
            let texts = get(row);
            for text in texts.iter().flatten() {
                b.values().append_value(text);
            }
            b.append(texts.is_some());
        };
        self.add(name, about, builder, add, |mut b| Arc::new(b.finish()))
    }

    /// A column of lists of 32-bit integers.
    pub(crate) fn ints(self, name: &str, about: &str, get: impl Fn(&'r R) -> Option<Vec<i32>> + Send + 'r) -> Self {
        let builder = |_| ListBuilder::new(PrimitiveBuilder::<Int32Type>::new());
        let add = move |b: &mut ListBuilder<PrimitiveBuilder<Int32Type>>, row| {
            let list = get(row);
            b.values().append_slice(list.as_deref().unwrap_or_default());
            b.append(list.is_some());
        };
        self.add(name, about, builder, add, |mut b| Arc::new(b.finish()))
    }

    /// A column of lists of unsigned 64-bit integers, of which some may be missing.
    pub(crate) fn u64s(
        self,
        name: &str,
        about: &str,
        get: impl Fn(&'r R) -> Option<Vec<Option<u64>>> + Send + 'r,
    ) -> Self {
        let builder = |_| ListBuilder::new(PrimitiveBuilder::<UInt64Type>::new());
        let add = move |b: &mut ListBuilder<PrimitiveBuilder<UInt64Type>>, row| {
            let list = get(row);
            for number in list.iter().flatten() {
                b.values().append_option(*number);
            }
            b.append(list.is_some());
        };
        self.add(name, about, builder, add, |mut b| Arc::new(b.finish()))
    }

    /// A column of lists of lists of 32-bit integers.
    pub(crate) fn int_lists(
        self,
        name: &str,
        about: &str,
        get: impl Fn(&'r R) -> Option<Vec<Vec<i32>>> + Send + 'r,
    ) -> Self {
        let builder = |_| ListBuilder::new(ListBuilder::new(PrimitiveBuilder::<Int32Type>::new()));
        let add = move |b: &mut ListBuilder<ListBuilder<PrimitiveBuilder<Int32Type>>>, row| {
            let lists = get(row);
            for list in lists.iter().flatten() {
                b.values().values().append_slice(list);
                b.values().append(true);
            }
            b.append(lists.is_some());
        };
        self.add(name, about, builder, add, |mut b| Arc::new(b.finish()))
    }

    /// The finished table.
    pub(crate) fn finish(self, name: &'static str) -> Result<Table> {
        let (labels, columns): (Vec<_>, Vec<_>) =
            self.columns.into_iter().map(|column| ((column.name, column.about), column.cells)).unzip();
        let arrays = fill(self.rows, columns);
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

/// Makes the columns, several side by side. The rows are gone through block by block: what a row refers to is brought
/// from memory once for several columns, which is most of the time.
fn fill<'r, R: Sync>(rows: &'r [R], columns: Vec<Box<dyn Filling<'r, R> + 'r>>) -> Vec<ArrayRef> {
    let groups = rayon::current_num_threads().clamp(1, columns.len().max(1));
    let mut grouped: Vec<Vec<_>> = (0..groups).map(|_| Vec::new()).collect();
    for (at, column) in columns.into_iter().enumerate() {
        if let Some(group) = grouped.get_mut(at % groups) {
            group.push((at, column));
        }
    }
    let fill_in = |mut group: Vec<(usize, Box<dyn Filling<'r, R> + 'r>)>| {
        for block in rows.chunks(BLOCK) {
            for (_, column) in &mut group {
                column.add(block);
            }
        }
        group.into_iter().map(|(at, column)| (at, column.finish())).collect::<Vec<_>>()
    };
    let mut made: Vec<(usize, ArrayRef)> = grouped.into_par_iter().flat_map_iter(fill_in).collect();
    made.sort_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, array)| array).collect()
}

/// A column of names, each of which stands once.
struct Dictionary<'r> {
    numbers: FxHashMap<Cow<'r, str>, u32>,
    names: Vec<Cow<'r, str>>,
    keys: PrimitiveBuilder<UInt32Type>,
}

impl<'r> Dictionary<'r> {
    fn with_capacity(rows: usize) -> Self {
        Self { numbers: FxHashMap::default(), names: Vec::new(), keys: PrimitiveBuilder::with_capacity(rows) }
    }

    /// The number of a name. There are never more names than rows, and never four billion rows.
    fn key(&mut self, name: Cow<'r, str>) -> u32 {
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let Self { numbers, names, .. } = self;
        *numbers.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            next
        })
    }

    fn finish(mut self) -> ArrayRef {
        let values = StringArray::from_iter_values(self.names);
        match DictionaryArray::try_new(self.keys.finish(), Arc::new(values)) {
            Ok(array) => Arc::new(array),
            // Numbers beyond the names cannot come from `key`.
            Err(_) => new_null_array(&DataType::Dictionary(DataType::UInt32.into(), DataType::Utf8.into()), 0),
        }
    }
}
