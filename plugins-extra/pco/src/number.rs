//! What kind of numbers a column has, and which Rust type that is.

use half::f16;

/// What the meta byte says of the numbers. Together with the type size it is one of eleven types: integers of 1, 2, 4 or 8
/// bytes, and floats of 2, 4 or 8.
///
/// ```
/// use oxiblosc_pco::NumberKind;
///
/// assert_eq!(NumberKind::Signed.meta(), 1);
/// assert_eq!(NumberKind::from_meta(2), Some(NumberKind::Float));
/// assert_eq!(NumberKind::from_meta(3), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NumberKind {
    /// Meta byte 0: unsigned integers, which is also what bits of unknown meaning are best taken for.
    #[default]
    Unsigned,
    /// Meta byte 1: integers in two's complement.
    Signed,
    /// Meta byte 2: floats of IEEE 754.
    Float,
}

impl NumberKind {
    /// The meta byte.
    pub const fn meta(self) -> u8 {
        match self {
            Self::Unsigned => 0,
            Self::Signed => 1,
            Self::Float => 2,
        }
    }

    /// The kind that a meta byte stands for; `None` for 3 and above, which are not in use.
    pub const fn from_meta(meta: u8) -> Option<Self> {
        match meta {
            0 => Some(Self::Unsigned),
            1 => Some(Self::Signed),
            2 => Some(Self::Float),
            _ => None,
        }
    }
}

/// A number as it lies in a block.
pub(crate) trait Number: pco::data_types::Number {
    /// Bytes of a number.
    const SIZE: usize;

    /// The number in `bytes`, of which there are [`Number::SIZE`].
    fn read(bytes: &[u8]) -> Self;

    /// Writes the number to `bytes`, of which there are [`Number::SIZE`].
    fn write(&self, bytes: &mut [u8]);
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Number for $type {
            const SIZE: usize = size_of::<Self>();

            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as the number has"))
            }

            fn write(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

number!(u8, u16, u32, u64, i8, i16, i32, i64, f16, f32, f64);

/// Evaluates an expression with `T` standing for the type of the numbers in the stream that `ctx` describes; returns an
/// error for a type that there is not.
macro_rules! with_number_type {
    ($ctx:expr, $number:ident => $call:expr) => {{
        use half::f16;
        use $crate::number::{NumberKind, size};
        match (NumberKind::from_meta($ctx.meta), size($ctx)) {
            (Some(NumberKind::Unsigned), 1) => with_number_type!(@ $number = u8, $call),
            (Some(NumberKind::Unsigned), 2) => with_number_type!(@ $number = u16, $call),
            (Some(NumberKind::Unsigned), 4) => with_number_type!(@ $number = u32, $call),
            (Some(NumberKind::Unsigned), 8) => with_number_type!(@ $number = u64, $call),
            (Some(NumberKind::Signed), 1) => with_number_type!(@ $number = i8, $call),
            (Some(NumberKind::Signed), 2) => with_number_type!(@ $number = i16, $call),
            (Some(NumberKind::Signed), 4) => with_number_type!(@ $number = i32, $call),
            (Some(NumberKind::Signed), 8) => with_number_type!(@ $number = i64, $call),
            (Some(NumberKind::Float), 2) => with_number_type!(@ $number = f16, $call),
            (Some(NumberKind::Float), 4) => with_number_type!(@ $number = f32, $call),
            (Some(NumberKind::Float), 8) => with_number_type!(@ $number = f64, $call),
            (Some(_), _) if $ctx.streams > 1 => with_number_type!(@ $number = u8, $call),
            _ => Err($crate::number::no_such_type($ctx)),
        }
    }};
    (@ $number:ident = $type:ty, $call:expr) => {{
        type $number = $type;
        $call
    }};
}
pub(crate) use with_number_type;

use oxiblosc_core::codec::{CodecContext, CodecError};

/// Bytes of a number: one in the streams of a split block.
pub(crate) const fn size(ctx: &CodecContext<'_>) -> usize {
    if ctx.streams > 1 { 1 } else { ctx.block.typesize }
}

/// What to say about a type size that numbers of this kind do not have.
pub(crate) const fn no_such_type(ctx: &CodecContext<'_>) -> CodecError {
    let expected = match NumberKind::from_meta(ctx.meta) {
        None => "0 for unsigned integers, 1 for signed ones, 2 for floats",
        Some(NumberKind::Float) => "floats have a type size of 2, 4 or 8",
        Some(_) => "integers have a type size of 1, 2, 4 or 8",
    };
    CodecError::Meta { meta: ctx.meta, expected }
}
