//! The one door through which all bytes leave the process and come back.
//!
//! A sealed value is an envelope: one byte format version (1), one byte codec, one byte of layers (0: none), then the
//! encoded value. Compression and encryption are layers of the same envelope.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::id::{CheckpointId, NamespaceKey, TaskId};

const FORMAT: u8 = 1;
const HEADER_BYTES: usize = 3;
const NO_LAYERS: u8 = 0;

/// How values become bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// JSON: readable in a database console.
    #[default]
    Json,
}

impl Codec {
    const fn code(self) -> u8 {
        match self {
            Self::Json => b'j',
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        match code {
            b'j' => Some(Self::Json),
            _ => None,
        }
    }

    /// Encodes a value as an envelope without layers.
    ///
    /// # Errors
    /// [`SealError::Encode`] if the value cannot be written in this codec (a map whose keys are no strings, say).
    pub fn encode<T: Serialize + ?Sized>(self, value: &T) -> Result<Vec<u8>, SealError> {
        let mut bytes = vec![FORMAT, self.code(), NO_LAYERS];
        match self {
            Self::Json => serde_json::to_writer(&mut bytes, value).map_err(SealError::Encode)?,
        }
        Ok(bytes)
    }
}

/// What kind of value an envelope holds; part of what encryption authenticates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValueKind {
    /// The base or a segment of a channel.
    Channel,
    /// The arguments of Sends.
    Args,
    /// A task's result.
    Result,
    /// An error's text.
    Error,
    /// A question.
    Question,
    /// An answer.
    Answer,
    /// A caller's command.
    Patch,
    /// The result of a call inside a task.
    Journal,
}

/// Where a sealed value stands. A value moved to another place does not open there once it is encrypted.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Tenant, thread and namespace.
    pub key: &'a NamespaceKey,
    /// The checkpoint it is stored with.
    pub checkpoint: CheckpointId,
    /// The task whose record it is, if it is one.
    pub task: Option<TaskId>,
    /// The channel, or the call path of a record; empty where neither applies.
    pub slot: &'a str,
    /// What it is.
    pub kind: ValueKind,
}

/// What reading takes at most, so that damaged or hostile bytes cannot exhaust the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The greatest size of one value, in bytes, when it is opened. 1 GiB unless changed.
    pub max_bytes: usize,
    /// The deepest nesting of lists and objects in one stored value. 120 unless changed; the JSON reader takes 127.
    pub max_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_bytes: 1 << 30, max_depth: 120 }
    }
}

/// Turns values into stored bytes and back.
#[derive(Clone, Debug, Default)]
pub struct Sealer {
    codec: Codec,
    limits: Limits,
}

impl Sealer {
    /// The default: JSON, no layers.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same sealer with other limits for reading.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The codec in which values are written. Reading takes every codec.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Adds the layers of this sealer to an envelope made by [`Codec::encode`]. Without layers the bytes pass as they are.
    ///
    /// # Errors
    /// [`SealError`] if a layer fails, or the value is larger or nested deeper than reading takes: what could not be read
    /// again is not stored.
    pub fn seal(&self, _place: Place<'_>, encoded: Vec<u8>) -> Result<Bytes, SealError> {
        if encoded.len() > self.limits.max_bytes {
            return Err(SealError::TooLarge { bytes: encoded.len(), limit: self.limits.max_bytes });
        }
        if is_deeper(&encoded, self.limits.max_depth) {
            return Err(SealError::TooDeep { limit: self.limits.max_depth });
        }
        Ok(Bytes::from(encoded))
    }

    /// Encodes and seals a value.
    ///
    /// # Errors
    /// [`SealError`] if the value cannot be encoded.
    pub fn seal_value<T: Serialize + ?Sized>(&self, place: Place<'_>, value: &T) -> Result<Bytes, SealError> {
        self.seal(place, self.codec.encode(value)?)
    }

    /// Removes the layers: gives the codec and the encoded value.
    ///
    /// # Errors
    /// [`SealError`] if the envelope is damaged, from a newer version or over the limits.
    pub fn open<'b>(&self, _place: Place<'_>, sealed: &'b Bytes) -> Result<(Codec, &'b [u8]), SealError> {
        if sealed.len() > self.limits.max_bytes {
            return Err(SealError::TooLarge { bytes: sealed.len(), limit: self.limits.max_bytes });
        }
        let Some((header, body)) = sealed.split_at_checked(HEADER_BYTES) else {
            return Err(SealError::Damaged("it is shorter than its header"));
        };
        if header[0] != FORMAT {
            return Err(SealError::Version(header[0]));
        }
        let codec = Codec::from_code(header[1]).ok_or(SealError::Damaged("its codec is unknown"))?;
        if header[2] != NO_LAYERS {
            return Err(SealError::Damaged("it has layers that this sealer does not open"));
        }
        Ok((codec, body))
    }

    /// Opens and decodes a value.
    ///
    /// # Errors
    /// [`SealError`] if the envelope is damaged or the value is not of this type.
    pub fn open_value<T: DeserializeOwned>(&self, place: Place<'_>, sealed: &Bytes) -> Result<T, SealError> {
        let (codec, body) = self.open(place, sealed)?;
        codec.decode(body)
    }
}

impl Codec {
    /// Decodes the body of an envelope.
    ///
    /// # Errors
    /// [`SealError::Decode`] if the bytes are not a value of this type, or nested more than 128 deep.
    pub fn decode<T: DeserializeOwned>(self, body: &[u8]) -> Result<T, SealError> {
        match self {
            Self::Json => serde_json::from_slice(body).map_err(SealError::Decode),
        }
    }
}

/// Why a value could not be sealed or opened. Shows no values.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The value cannot be written in the codec.
    #[error("it cannot be encoded")]
    Encode(#[source] serde_json::Error),
    /// The bytes are not a value of the type wanted.
    #[error("it does not decode: {}", masked(.0))]
    Decode(serde_json::Error),
    /// The envelope is damaged.
    #[error("its envelope is damaged: {0}")]
    Damaged(&'static str),
    /// The envelope was written by a newer version.
    #[error("its envelope has format {0}, this version reads 1; upgrade")]
    Version(u8),
    /// The value is nested deeper than the limit.
    #[error("it is nested more than {limit} deep")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The value is larger than the limit.
    #[error("it has {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// Its size in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
}

impl std::fmt::Debug for SealError {
    /// As for people: the errors inside quote values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealError({self})")
    }
}

/// Whether lists and objects in an envelope are nested deeper than this. Most values do not even have so many.
fn is_deeper(envelope: &[u8], limit: usize) -> bool {
    let opens = |byte: &u8| matches!(byte, b'[' | b'{');
    if envelope.len() <= limit || envelope.iter().filter(|byte| opens(byte)).count() <= limit {
        return false;
    }
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in envelope.iter().skip(HEADER_BYTES) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => depth += 1,
            b']' | b'}' if !in_text => depth -= 1,
            _ => {}
        }
        if depth > limit {
            return true;
        }
    }
    false
}

/// The reason and position of a decoding error, without the text that serde quotes from the value.
pub fn masked(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        serde_json::error::Category::Data => "another type was expected",
        serde_json::error::Category::Syntax => "it is not valid JSON, or nested too deep",
        serde_json::error::Category::Eof => "it ends too early",
        serde_json::error::Category::Io => "it cannot be read",
    };
    match error.line() {
        0 => what.to_owned(), // it was read from a value, not from text
        line => format!("{what} (line {line}, column {})", error.column()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Namespace, TenantId, ThreadId, ThreadKey};

    fn key() -> NamespaceKey {
        ThreadKey { tenant: TenantId::default(), thread: ThreadId::new("t").unwrap() }.namespace(Namespace::root())
    }

    fn place(key: &NamespaceKey) -> Place<'_> {
        Place { key, checkpoint: CheckpointId::from_bytes([1; 16]), task: None, slot: "x", kind: ValueKind::Channel }
    }

    #[test]
    fn a_value_comes_back() {
        let key = key();
        let sealer = Sealer::new();
        let envelope = sealer.seal_value(place(&key), &("héllo\0", 7_u64, f64::MIN_POSITIVE)).unwrap();
        assert_eq!(&envelope[..3], b"\x01j\x00");
        let back: (String, u64, f64) = sealer.open_value(place(&key), &envelope).unwrap();
        assert_eq!(back, ("héllo\0".to_owned(), 7, f64::MIN_POSITIVE));
    }

    #[test]
    fn what_could_not_be_read_again_is_not_stored() {
        let key = key();
        let sealer = Sealer::new();
        let nested = |depth: usize| -> serde_json::Value {
            (0..depth).fold(serde_json::json!("[[[{{{\\\"["), |inner, _| serde_json::json!([inner]))
        };
        assert!(sealer.seal_value(place(&key), &nested(120)).is_ok());
        assert!(matches!(sealer.seal_value(place(&key), &nested(121)), Err(SealError::TooDeep { limit: 120 })));
        let flat = vec![serde_json::json!({ "a": [1] }); 500];
        assert!(sealer.seal_value(place(&key), &flat).is_ok());
        let small = Sealer::new().limits(Limits { max_bytes: 4, ..Limits::default() });
        assert!(matches!(small.seal_value(place(&key), "longer"), Err(SealError::TooLarge { .. })));
    }

    #[test]
    fn damage_is_an_error_that_shows_no_value() {
        let key = key();
        let sealer = Sealer::new();
        let open = |bytes: &'static [u8]| sealer.open_value::<u64>(place(&key), &Bytes::from_static(bytes));
        assert!(matches!(open(b""), Err(SealError::Damaged(_))));
        assert!(matches!(open(b"\x02j\x001"), Err(SealError::Version(2))));
        assert!(matches!(open(b"\x01?\x001"), Err(SealError::Damaged(_))));
        assert!(matches!(open(b"\x01j\x011"), Err(SealError::Damaged(_))));
        let text = open(b"\x01j\x00\"secret\"").unwrap_err().to_string();
        assert!(text.contains("another type") && !text.contains("secret"), "{text}");
        let deep = Bytes::from([b"\x01j\x00".to_vec(), b"[".repeat(200_000)].concat());
        assert!(sealer.open_value::<serde_json::Value>(place(&key), &deep).is_err());
        let small = Sealer::new().limits(Limits { max_bytes: 4, ..Limits::default() });
        assert!(matches!(
            small.open(place(&key), &Bytes::from_static(b"\x01j\x0012")),
            Err(SealError::TooLarge { .. })
        ));
    }
}
