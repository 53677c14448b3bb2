//! The methods by which values are read, as lists: what stands between a type and its format passes all of them on.

/// Gives a macro the methods of a deserialiser, but for those of structs and enums.
macro_rules! deserializing {
    ($to:ident) => {
        $to! {
            deserialize_any() deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
            deserialize_i128() deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64()
            deserialize_u128() deserialize_f32() deserialize_f64() deserialize_char() deserialize_str()
            deserialize_string() deserialize_bytes() deserialize_byte_buf() deserialize_option() deserialize_unit()
            deserialize_seq() deserialize_map() deserialize_identifier() deserialize_ignored_any()
            deserialize_unit_struct(name: &'static str)
            deserialize_newtype_struct(name: &'static str)
            deserialize_tuple(len: usize)
            deserialize_tuple_struct(name: &'static str, len: usize)
        }
    };
}

/// Gives a macro the methods of a visitor for values without parts that are no texts.
macro_rules! visiting_plain {
    ($to:ident) => {
        $to! {
            visit_bool(bool) visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128) visit_u8(u8)
            visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128) visit_f32(f32) visit_f64(f64)
            visit_char(char) visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
        }
    };
}

/// Gives a macro the methods of a visitor for texts.
macro_rules! visiting_texts {
    ($to:ident) => {
        $to! { visit_str(&str) visit_borrowed_str(&'de str) visit_string(String) }
    };
}

pub(crate) use {deserializing, visiting_plain, visiting_texts};
