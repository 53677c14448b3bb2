//! What a wrapper around a deserialiser passes on, and what a wrapper around a visitor does, by their names.

/// Gives `$pass_on` the methods of deserialisers that hand a visitor on.
macro_rules! of_deserializers {
    ($pass_on:ident) => {
        $pass_on! {
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

/// Gives `$plain` the methods of visitors for values without parts, `$borrowed` the one for a text that is a part of the
/// document, and `$texts` those for others.
macro_rules! of_visitors {
    ($plain:ident, $borrowed:ident, $texts:ident) => {
        $plain! {
            visit_bool(bool) visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128) visit_u8(u8)
            visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128) visit_f32(f32) visit_f64(f64)
            visit_char(char) visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
        }
        $borrowed! {
            visit_borrowed_str(&'de str)
        }
        $texts! {
            visit_str(&str) visit_string(String)
        }
    };
}

pub(super) use {of_deserializers, of_visitors};
