//! Serialising values so that what comes back is what went in, or not at all.
//!
//! Some values have a serialised form that reads as another value: `Some(None)` is written as `null` and read as
//! `None`, and JSON has no infinity and writes `null`. A value must not change by being stored, so these are errors,
//! which name the place by fields and positions, without any text of the value.

use std::fmt::Display;

use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// Serialises a value, or fails if it would not come back as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Faithful<'a, T: ?Sized>(pub(crate) &'a T);

impl<T: Serialize + ?Sized> Serialize for Faithful<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Strict { serializer, within: Within::Other })
    }
}

/// A value directly in a `Some`.
struct InSome<'a, T: ?Sized>(&'a T);

impl<T: Serialize + ?Sized> Serialize for InSome<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Strict { serializer, within: Within::Some })
    }
}

/// What the value stands in.
#[derive(Clone, Copy, PartialEq)]
enum Within {
    Some,
    Other,
}

struct Strict<S> {
    serializer: S,
    within: Within,
}

impl<S: Serializer> Strict<S> {
    /// For values that are written as null.
    fn null(&self) -> Result<(), S::Error> {
        match self.within {
            Within::Some => Err(S::Error::custom(": a null in a `Some` reads as `None`; use an enum of your own")),
            Within::Other => Ok(()),
        }
    }

    fn finite(&self, is_finite: bool) -> Result<(), S::Error> {
        if self.serializer.is_human_readable() && !is_finite {
            return Err(S::Error::custom(": it is no finite number, which JSON cannot hold; use an `Option`"));
        }
        Ok(())
    }
}

/// Puts a step before the path of an error.
pub(crate) fn at<E: Error>(step: impl Display) -> impl FnOnce(E) -> E {
    move |error| {
        let text = error.to_string();
        let colon = if text.starts_with(['.', '[', ':']) { "" } else { ": " };
        E::custom(format_args!("{step}{colon}{text}"))
    }
}

macro_rules! pass {
    ($($method:ident: $type:ty,)*) => {$(
        fn $method(self, value: $type) -> Result<S::Ok, S::Error> {
            self.serializer.$method(value)
        }
    )*};
}

impl<S: Serializer> Serializer for Strict<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Numbered<S::SerializeSeq>;
    type SerializeTuple = Numbered<S::SerializeTuple>;
    type SerializeTupleStruct = Numbered<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Numbered<S::SerializeTupleVariant>;
    type SerializeMap = Numbered<S::SerializeMap>;
    type SerializeStruct = Named<S::SerializeStruct>;
    type SerializeStructVariant = Named<S::SerializeStructVariant>;

    pass! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128,
        serialize_char: char,
        serialize_str: &str,
        serialize_bytes: &[u8],
    }

    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        self.finite(value.is_finite())?;
        self.serializer.serialize_f32(value)
    }

    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        self.finite(value.is_finite())?;
        self.serializer.serialize_f64(value)
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.null()?;
        self.serializer.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.serializer.serialize_some(&InSome(value))
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.null()?;
        self.serializer.serialize_unit()
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<S::Ok, S::Error> {
        self.null()?;
        self.serializer.serialize_unit_struct(name)
    }

    fn serialize_unit_variant(self, name: &'static str, index: u32, variant: &'static str) -> Result<S::Ok, S::Error> {
        self.serializer.serialize_unit_variant(name, index, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<S::Ok, S::Error> {
        match self.within {
            Within::Some => self.serializer.serialize_newtype_struct(name, &InSome(value)),
            Within::Other => self.serializer.serialize_newtype_struct(name, &Faithful(value)),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let within = |error| at(format_args!(".{variant}"))(error);
        self.serializer.serialize_newtype_variant(name, index, variant, &Faithful(value)).map_err(within)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.serializer.serialize_seq(len).map(Numbered::new)
    }

    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.serializer.serialize_tuple(len).map(Numbered::new)
    }

    fn serialize_tuple_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.serializer.serialize_tuple_struct(name, len).map(Numbered::new)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.serializer.serialize_tuple_variant(name, index, variant, len).map(Numbered::new)
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.serializer.serialize_map(len).map(Numbered::new)
    }

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeStruct, S::Error> {
        self.serializer.serialize_struct(name, len).map(Named)
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.serializer.serialize_struct_variant(name, index, variant, len).map(Named)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.serializer.collect_str(value)
    }

    fn is_human_readable(&self) -> bool {
        self.serializer.is_human_readable()
    }
}

/// Something whose parts are found by position.
struct Numbered<C> {
    compound: C,
    position: usize,
}

impl<C> Numbered<C> {
    fn new(compound: C) -> Self {
        Self { compound, position: 0 }
    }

    fn part<E: Error>(&mut self, write: impl FnOnce(&mut C) -> Result<(), E>) -> Result<(), E> {
        let position = self.position;
        self.position += 1;
        write(&mut self.compound).map_err(|error| at(format_args!("[{position}]"))(error))
    }
}

macro_rules! numbered {
    ($($trait:ident :: $method:ident)*) => {$(
        impl<C: $trait> $trait for Numbered<C> {
            type Ok = C::Ok;
            type Error = C::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
                self.part(|compound| compound.$method(&Faithful(value)))
            }

            fn end(self) -> Result<C::Ok, C::Error> {
                self.compound.end()
            }
        }
    )*};
}

numbered! {
    SerializeSeq::serialize_element
    SerializeTuple::serialize_element
    SerializeTupleStruct::serialize_field
    SerializeTupleVariant::serialize_field
}

impl<C: SerializeMap> SerializeMap for Numbered<C> {
    type Ok = C::Ok;
    type Error = C::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), C::Error> {
        let position = self.position;
        let within = |error| at(format_args!("[{position}].key"))(error);
        self.compound.serialize_key(&Faithful(key)).map_err(within)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
        self.part(|compound| compound.serialize_value(&Faithful(value)))
    }

    fn end(self) -> Result<C::Ok, C::Error> {
        self.compound.end()
    }
}

/// Something whose parts have names.
struct Named<C>(C);

macro_rules! named {
    ($($trait:ident)*) => {$(
        impl<C: $trait> $trait for Named<C> {
            type Ok = C::Ok;
            type Error = C::Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), C::Error> {
                self.0.serialize_field(name, &Faithful(value)).map_err(|error| at(format_args!(".{name}"))(error))
            }

            fn skip_field(&mut self, name: &'static str) -> Result<(), C::Error> {
                self.0.skip_field(name)
            }

            fn end(self) -> Result<C::Ok, C::Error> {
                self.0.end()
            }
        }
    )*};
}

named!(SerializeStruct SerializeStructVariant);

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[derive(serde::Serialize)]
    struct Newtype<T>(T);

    #[derive(serde::Serialize)]
    struct Pair<T>(u8, T);

    #[derive(serde::Serialize)]
    enum Variants<T> {
        Newtype(T),
        Tuple(u8, T),
        Struct { a: u8, b: T },
    }

    fn written(value: &impl Serialize) -> Result<String, String> {
        serde_json::to_string(&Faithful(value)).map_err(|error| error.to_string())
    }

    fn refused(value: &impl Serialize, place: &str) {
        let error = written(value).unwrap_err();
        assert!(error.starts_with(&format!("{place}: a null in a `Some`")), "{error}");
    }

    #[expect(clippy::option_option, reason = "it is what is refused")]
    const NULL: Option<Option<u8>> = Some(None);

    #[test]
    fn errors_name_the_place_and_no_value() {
        refused(&NULL, "");
        refused(&(1, NULL), "[1]");
        refused(&Pair(1, NULL), "[1]");
        refused(&Variants::Newtype(NULL), ".Newtype");
        refused(&Variants::Tuple(1, vec![Some(Some(1)), NULL]), "[1][1]");
        refused(&Variants::Struct { a: 1, b: BTreeMap::from([("secret", NULL)]) }, ".b[0]");
        refused(&Some(Newtype(None::<u8>)), "");
        refused(&Newtype(NULL), "");
        assert_eq!(written(&BTreeMap::from([((), 1)])), Err("[0].key: key must be a string".to_owned()));
    }

    #[test]
    fn what_comes_back_passes_as_it_is() {
        let raw = serde_json::value::RawValue::from_string("{\"a\" : 1.0}".to_owned()).unwrap();
        assert_eq!(written(&Some(raw)).unwrap(), "{\"a\" : 1.0}");
        let value = json!({"a": [null, 1, -1, 0.5, "x", {"b": {}}], "c": u64::MAX});
        assert_eq!(written(&value).unwrap(), value.to_string());
        assert_eq!(written(&Some(vec![None, Some(1)])).unwrap(), "[null,1]");
        assert_eq!(written(&Newtype(None::<u8>)).unwrap(), "null");
        assert_eq!(written(&Some(Variants::Tuple(1, None::<u8>))).unwrap(), r#"{"Tuple":[1,null]}"#);
        assert_eq!(
            written(&(i128::MIN, u128::MAX, 'é', ())).unwrap(),
            format!("[{},{},\"é\",null]", i128::MIN, u128::MAX)
        );
    }
}
