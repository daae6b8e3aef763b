//! The macros that give a library its symbols.

/// Makes a codec the one that this shared library provides: to C-Blosc2, and to programs that [`load`](crate::load) it.
///
/// Takes the name of a codec that is registered in this crate, or in one that it is linked with; or what
/// [`register_codec!`](oxiblosc_core::register_codec) takes, and registers the codec as well. The name is one that
/// C-Blosc2 can look for: letters, digits and `_`.
///
/// The symbols have the same names in every such library. It is used once in a crate, and a program links no more than
/// one such crate.
#[macro_export]
macro_rules! export_codec {
    ($name:literal $(,)?) => {
        const _: () = {
            struct Exported;

            impl $crate::private::Named for Exported {
                const NAME: &'static str = $name;
            }

            const _: () = assert!($crate::private::is_c_name($name), "a name has letters, digits and `_`");

            // SAFETY: the name that C-Blosc2 looks for, and what it expects there.
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            static info: $crate::private::Info = $crate::private::Info::CODEC;

            // SAFETY: a name that `load` looks for, and what it expects there.
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            static oxiblosc_plugin: $crate::private::Interface = $crate::private::Interface::codec::<Exported>();

            // SAFETY: a name that `info` mentions, and what C-Blosc2 expects there.
            #[unsafe(no_mangle)]
            /// Compresses for C-Blosc2.
            ///
            /// # Safety
            /// As `blosc2_codec_encoder_cb`.
            unsafe extern "C" fn oxiblosc_encoder(
                input: *const u8,
                input_len: i32,
                output: *mut u8,
                output_len: i32,
                meta: u8,
                params: *const $crate::private::CParams,
                _chunk: *const ::core::ffi::c_void,
            ) -> ::core::ffi::c_int {
                // SAFETY: passed on as they came.
                unsafe { $crate::private::encode::<Exported>((input, input_len), (output, output_len), meta, params) }
            }

            // SAFETY: a name that `info` mentions, and what C-Blosc2 expects there.
            #[unsafe(no_mangle)]
            /// Decompresses for C-Blosc2.
            ///
            /// # Safety
            /// As `blosc2_codec_decoder_cb`.
            unsafe extern "C" fn oxiblosc_decoder(
                input: *const u8,
                input_len: i32,
                output: *mut u8,
                output_len: i32,
                meta: u8,
                params: *const $crate::private::DParams,
                chunk: *const ::core::ffi::c_void,
            ) -> ::core::ffi::c_int {
                // SAFETY: passed on as they came.
                unsafe {
                    $crate::private::decode::<Exported>((input, input_len), (output, output_len), meta, params, chunk)
                }
            }
        };
    };
    (override $id:expr, $name:literal, $traits:expr, $new:expr $(,)?) => {
        $crate::private::register_codec!(override $id, $name, $traits, $new);
        $crate::export_codec!($name);
    };
    (assigned $id:expr, $name:literal, $traits:expr, $new:expr $(,)?) => {
        $crate::private::register_codec!(assigned $id, $name, $traits, $new);
        $crate::export_codec!($name);
    };
    ($id:expr, $name:literal, $traits:expr, $new:expr $(,)?) => {
        $crate::private::register_codec!($id, $name, $traits, $new);
        $crate::export_codec!($name);
    };
}

/// Makes a filter the one that this shared library provides; see [`export_codec!`](crate::export_codec).
#[macro_export]
macro_rules! export_filter {
    ($name:literal $(,)?) => {
        const _: () = {
            struct Exported;

            impl $crate::private::Named for Exported {
                const NAME: &'static str = $name;
            }

            const _: () = assert!($crate::private::is_c_name($name), "a name has letters, digits and `_`");

            // SAFETY: the name that C-Blosc2 looks for, and what it expects there.
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            static info: $crate::private::Info = $crate::private::Info::FILTER;

            // SAFETY: a name that `load` looks for, and what it expects there.
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            static oxiblosc_plugin: $crate::private::Interface = $crate::private::Interface::filter::<Exported>();

            // SAFETY: a name that `info` mentions, and what C-Blosc2 expects there.
            #[unsafe(no_mangle)]
            /// Filters for C-Blosc2.
            ///
            /// # Safety
            /// As `blosc2_filter_forward_cb`.
            unsafe extern "C" fn oxiblosc_forward(
                input: *const u8,
                output: *mut u8,
                len: i32,
                meta: u8,
                params: *const $crate::private::CParams,
                _id: u8,
            ) -> ::core::ffi::c_int {
                // SAFETY: passed on as they came.
                unsafe { $crate::private::forward::<Exported>(input, output, len, meta, params) }
            }

            // SAFETY: a name that `info` mentions, and what C-Blosc2 expects there.
            #[unsafe(no_mangle)]
            /// Undoes the filter for C-Blosc2.
            ///
            /// # Safety
            /// As `blosc2_filter_backward_cb`.
            unsafe extern "C" fn oxiblosc_backward(
                input: *const u8,
                output: *mut u8,
                len: i32,
                meta: u8,
                params: *const $crate::private::DParams,
                _id: u8,
            ) -> ::core::ffi::c_int {
                // SAFETY: passed on as they came.
                unsafe { $crate::private::backward::<Exported>(input, output, len, meta, params) }
            }
        };
    };
    (override $id:expr, $name:literal, $traits:expr, $new:expr $(,)?) => {
        $crate::private::register_filter!(override $id, $name, $traits, $new);
        $crate::export_filter!($name);
    };
    (assigned $id:expr, $name:literal, $traits:expr, $new:expr $(,)?) => {
        $crate::private::register_filter!(assigned $id, $name, $traits, $new);
        $crate::export_filter!($name);
    };
    ($id:expr, $name:literal, $traits:expr, $new:expr $(,)?) => {
        $crate::private::register_filter!($id, $name, $traits, $new);
        $crate::export_filter!($name);
    };
}
