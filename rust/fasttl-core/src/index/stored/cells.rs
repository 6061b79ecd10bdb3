//! Columns of plain values in Arrow IPC streams: written from rows, and read back without trust.
//!
//! A section is one stream with one batch. What is read must have, to the byte, the schema that would be written, and
//! all places that its batch names are checked before the decoder sees them, since it stops the process at some that
//! are wrong.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int32Type, Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, LargeStringArray, PrimitiveArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::read_record_batch;
use arrow_ipc::writer::StreamWriter;
use arrow_ipc::{MessageHeader, MetadataVersion, root_as_message};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::error::{Error, ErrorKind, Result};

/// Bytes of an md5.
const MD5_LEN: i32 = 16;
/// What stands before the length of a message.
const MARK: [u8; 4] = [0xFF; 4];

/// That what was read is no stored index, or a damaged one.
pub(crate) fn unfit(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Read, format!("no index that could be used: {what}"))
}

/// Takes rows and, column by column, how a value comes from a row. A value may be of any type that fits into that of
/// its column.
pub(crate) struct Rows<'r, R> {
    items: &'r [R],
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
    /// The first value that did not fit its column.
    fault: Option<String>,
}

impl<'r, R> Rows<'r, R> {
    /// A section of `rows`, without columns yet.
    pub(crate) fn new(rows: &'r [R]) -> Self {
        Self { items: rows, fields: Vec::new(), arrays: Vec::new(), fault: None }
    }

    fn add(mut self, name: &str, array: ArrayRef) -> Self {
        self.fields.push(Field::new(name, array.data_type().clone(), true));
        self.arrays.push(array);
        self
    }

    fn numbers<T: ArrowPrimitiveType, N: Into<T::Native>>(self, name: &str, get: impl Fn(&'r R) -> Option<N>) -> Self {
        let array: PrimitiveArray<T> = self.items.iter().map(|row| get(row).map(Into::into)).collect();
        self.add(name, Arc::new(array))
    }

    /// A column of numbers below 256.
    pub(crate) fn u8(self, name: &str, get: impl Fn(&'r R) -> u8) -> Self {
        self.numbers::<UInt8Type, _>(name, |row| Some(get(row)))
    }

    /// A column of 32-bit numbers.
    pub(crate) fn u32<N: Into<u32>>(self, name: &str, get: impl Fn(&'r R) -> N) -> Self {
        self.numbers::<UInt32Type, _>(name, |row| Some(get(row)))
    }

    /// A column of 64-bit numbers.
    pub(crate) fn u64<N: Into<u64>>(self, name: &str, get: impl Fn(&'r R) -> N) -> Self {
        self.numbers::<UInt64Type, _>(name, |row| Some(get(row)))
    }

    /// A column of 64-bit numbers that may be missing.
    pub(crate) fn maybe_u64<N: Into<u64>>(self, name: &str, get: impl Fn(&'r R) -> Option<N>) -> Self {
        self.numbers::<UInt64Type, _>(name, get)
    }

    /// A column of 32-bit integers that may be missing.
    pub(crate) fn maybe_i32<N: Into<i32>>(self, name: &str, get: impl Fn(&'r R) -> Option<N>) -> Self {
        self.numbers::<Int32Type, _>(name, get)
    }

    /// A column of 64-bit integers that may be missing.
    pub(crate) fn maybe_i64<N: Into<i64>>(self, name: &str, get: impl Fn(&'r R) -> Option<N>) -> Self {
        self.numbers::<Int64Type, _>(name, get)
    }

    /// A column of texts.
    pub(crate) fn text(self, name: &str, get: impl Fn(&'r R) -> &'r str) -> Self {
        let array = LargeStringArray::from_iter_values(self.items.iter().map(get));
        self.add(name, Arc::new(array))
    }

    /// A column of md5s.
    pub(crate) fn md5(mut self, name: &str, get: impl Fn(&'r R) -> [u8; 16]) -> Self {
        let mut builder = FixedSizeBinaryBuilder::with_capacity(self.items.len(), MD5_LEN);
        for row in self.items {
            if let Err(error) = builder.append_value(get(row)) {
                self.fault.get_or_insert(error.to_string());
            }
        }
        self.add(name, Arc::new(builder.finish()))
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.fields.clone()))
    }

    /// Writes the section.
    pub(crate) fn write(self, out: &mut impl Write) -> Result<()> {
        let failed = |e: &dyn std::fmt::Display| Error::new(ErrorKind::Output, format!("could not be written: {e}"));
        if let Some(fault) = &self.fault {
            return Err(failed(fault));
        }
        let schema = self.schema();
        let batch = RecordBatch::try_new(Arc::clone(&schema), self.arrays).map_err(|e| failed(&e))?;
        let mut writer = StreamWriter::try_new(out, &schema).map_err(|e| failed(&e))?;
        writer.write(&batch).and_then(|()| writer.finish()).map_err(|e| failed(&e))
    }
}

/// Sections that stand one after another.
pub(crate) struct Sections {
    bytes: Buffer,
    at: usize,
}

impl Sections {
    /// Over all of `bytes`.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes: Buffer::from_vec(bytes), at: 0 }
    }

    /// What was not read yet.
    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.as_slice().get(self.at..).unwrap_or_default()
    }

    /// The next section, if it has the columns of `like`.
    pub(crate) fn read<R>(&mut self, like: &Rows<'_, R>) -> Result<Cells> {
        let schema = like.schema();
        let head = schema_message(&schema)?;
        if !self.rest().starts_with(&head) {
            return Err(unfit("other columns"));
        }
        self.at += head.len();
        let batch = self.batch(&schema)?;
        if !self.rest().starts_with(&[MARK, [0; 4]].concat()) {
            return Err(unfit("more than one batch"));
        }
        self.at += 8;
        Ok(Cells(batch))
    }

    fn batch(&mut self, schema: &SchemaRef) -> Result<RecordBatch> {
        let bytes = self.bytes.clone();
        let rest = bytes.as_slice().get(self.at..).unwrap_or_default();
        let (mark, rest) = rest.split_first_chunk::<4>().ok_or_else(|| unfit("it ends early"))?;
        let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(|| unfit("it ends early"))?;
        let len = usize::try_from(i32::from_le_bytes(*len)).map_err(unfit)?;
        let (head, rest) = rest.split_at_checked(len).ok_or_else(|| unfit("it ends early"))?;
        let message = root_as_message(head).map_err(unfit)?;
        let body_len = usize::try_from(message.bodyLength()).map_err(unfit)?;
        if *mark != MARK || message.header_type() != MessageHeader::RecordBatch || body_len > rest.len() {
            return Err(unfit("no batch where one is due"));
        }
        let batch = message.header_as_record_batch().ok_or_else(|| unfit("no batch where one is due"))?;
        check_places(&batch, schema, body_len).ok_or_else(|| unfit("a batch that points out of itself"))?;
        let body = bytes.slice_with_length(self.at + 8 + len, body_len);
        self.at += 8 + len + body_len;
        read_record_batch(&body, batch, Arc::clone(schema), &HashMap::new(), None, &MetadataVersion::V5).map_err(unfit)
    }
}

/// The message that opens a stream of this schema.
fn schema_message(schema: &Schema) -> Result<Vec<u8>> {
    let writer = StreamWriter::try_new(Vec::new(), schema).map_err(unfit)?;
    // A stream that is not finished has the one message.
    Ok(writer.get_ref().clone())
}

/// Whether all that a batch says of its body is inside of it, and of one number of rows.
fn check_places(batch: &arrow_ipc::RecordBatch<'_>, schema: &Schema, body_len: usize) -> Option<()> {
    if batch.compression().is_some() || batch.variadicBufferCounts().is_some_and(|counts| !counts.is_empty()) {
        return None;
    }
    let rows = usize::try_from(batch.length()).ok()?;
    let (nodes, mut buffers) = (batch.nodes()?, batch.buffers()?.iter());
    if nodes.len() != schema.fields().len() {
        return None;
    }
    for (node, field) in nodes.iter().zip(schema.fields()) {
        let nulls = usize::try_from(node.null_count()).ok()?;
        if usize::try_from(node.length()).ok()? != rows || nulls > rows {
            return None;
        }
        // The first buffer has the bits of what is there, the second values, or where texts begin.
        let (count, width) = match field.data_type() {
            DataType::LargeUtf8 => (3, 8),
            other => (2, other.primitive_width().unwrap_or(1)),
        };
        for nth in 0..count {
            let buffer = buffers.next()?;
            let (offset, len) = (usize::try_from(buffer.offset()).ok()?, usize::try_from(buffer.length()).ok()?);
            let fits = match nth {
                0 => nulls == 0 || len >= rows.div_ceil(8),
                1 => len.is_multiple_of(width),
                _ => true,
            };
            if offset.checked_add(len)? > body_len || !fits {
                return None;
            }
        }
    }
    buffers.next().is_none().then_some(())
}

/// A section that was read.
#[derive(Debug)]
pub(crate) struct Cells(RecordBatch);

impl Cells {
    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.0.num_rows()
    }

    fn column(&self, name: &str) -> Result<&ArrayRef> {
        self.0.column_by_name(name).ok_or_else(|| unfit("other columns"))
    }

    /// Numbers that may be missing.
    pub(crate) fn maybe<T: ArrowPrimitiveType>(&self, name: &str) -> Result<&PrimitiveArray<T>> {
        self.column(name)?.as_primitive_opt::<T>().ok_or_else(|| unfit("other columns"))
    }

    /// Numbers.
    pub(crate) fn numbers<T: ArrowPrimitiveType>(&self, name: &str) -> Result<&PrimitiveArray<T>> {
        self.maybe::<T>(name).and_then(|array| whole(array, name))
    }

    /// Texts.
    pub(crate) fn texts(&self, name: &str) -> Result<&LargeStringArray> {
        let array = self.column(name)?.as_string_opt::<i64>().ok_or_else(|| unfit("other columns"))?;
        whole(array, name)
    }

    /// Md5s.
    pub(crate) fn md5s(&self, name: &str) -> Result<&FixedSizeBinaryArray> {
        let array = self.column(name)?.as_fixed_size_binary_opt().ok_or_else(|| unfit("other columns"))?;
        whole(array, name)
    }
}

fn whole<'a, A: Array>(array: &'a A, name: &str) -> Result<&'a A> {
    if array.null_count() > 0 { Err(unfit(format!("a row without {name}"))) } else { Ok(array) }
}

/// The value at `row`, if it is not missing.
pub(crate) fn cell<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    array.is_valid(row).then(|| array.value(row))
}
