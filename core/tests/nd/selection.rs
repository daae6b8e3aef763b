//! Selections as text, and what is refused.

use oxiblosc_core::nd::{AxisSelection, Geometry, NdError, Plan, Selection, Window};

fn shape(selection: &Selection, shape: &[u64]) -> Result<Vec<u64>, NdError> {
    let ones = vec![1; shape.len()];
    let geometry = Geometry { shape: shape.to_vec(), chunk_shape: ones.clone(), block_shape: ones };
    Ok(Plan::new(&geometry.tile(1)?, selection)?.shape().to_vec())
}

#[test]
fn text_is_read_as_python_does() {
    let slice = |start, stop, step| AxisSelection::Slice { start, stop, step };
    for (text, axes) in [
        ("", vec![]),
        ("3", vec![3.into()]),
        ("3,", vec![3.into()]),
        (" -3 , 2:10", vec![(-3).into(), (2..10).into()]),
        (":,1:,:-1,::", vec![(..).into(), (1..).into(), (..-1).into(), (..).into()]),
        ("::-1, 5:1:-2, : :3", vec![slice(None, None, -1), slice(Some(5), Some(1), -2), slice(None, None, 3)]),
        ("[4,1, 1],[]", vec![vec![4, 1, 1].into(), vec![].into()]),
    ] {
        assert_eq!(text.parse(), Ok(Selection::axes(axes)), "{text}");
    }
    assert_eq!("...".parse(), Ok(Selection::all()));
    assert_eq!("1,...,2:".parse(), Ok(Selection::axes([1]).last([2..])));
    for text in ["a", "1:2:3:4", "1,,2", "1 2", "[1", "1]", "[1,[2]]", "[a]", "...,1,...", "9223372036854775808", ","] {
        let error = text.parse::<Selection>().unwrap_err();
        assert!(matches!(error, NdError::Syntax { .. }), "{text}: {error}");
    }
    assert!(matches!("0,".repeat(17).parse::<Selection>(), Err(NdError::TooManyDims { .. })));
}

#[test]
fn results_have_the_shape_that_numpy_gives() {
    for (text, array, expected) in [
        ("", &[4, 5][..], &[4, 5][..]),
        ("1", &[4, 5], &[5]),
        ("...,1", &[4, 5], &[4]),
        ("1,...", &[4, 5], &[5]),
        ("1,...,2", &[4, 5], &[]),
        ("1:3,::2", &[4, 5], &[2, 3]),
        ("3:1", &[4, 5], &[0, 5]),
        ("3:1:-1", &[4, 5], &[2, 5]),
        ("-100:100", &[4, 5], &[4, 5]),
        ("100:-100:-1", &[4, 5], &[4, 5]),
        ("::-9223372036854775808", &[4], &[1]),
        ("[3,3,3,0,-4]", &[4, 5], &[5, 5]),
        ("[],2", &[4, 5], &[0]),
        ("", &[], &[]),
        ("...", &[], &[]),
        (":", &[0], &[0]),
    ] {
        assert_eq!(shape(&text.parse().unwrap(), array).unwrap(), expected, "{text} of {array:?}");
    }
    let window = Window { origin: vec![1, 2], shape: vec![3, 0] };
    assert_eq!(shape(&Selection::window(&window), &[4, 5]).unwrap(), [3, 0]);
    assert_eq!(shape(&Selection::points([[0, 0], [1, -1], [0, 0]]), &[4, 5]).unwrap(), [3]);
    assert_eq!(shape(&Selection::points::<[i64; 2]>([]), &[4, 5, 6]).unwrap(), [0]);
    assert_eq!(shape(&Selection::points([[], []]), &[]).unwrap(), [2]);
}

#[test]
fn what_is_not_in_the_array_is_refused() {
    for (text, axis, index, len) in
        [("4", 0, 4, 4), ("-5", 0, -5, 4), ("1,[0,5]", 1, 5, 5), ("0,-9223372036854775808", 1, i64::MIN, 5)]
    {
        let error = shape(&text.parse().unwrap(), &[4, 5]).unwrap_err();
        assert_eq!(error, NdError::OutOfBounds { axis, index, len });
    }
    assert_eq!(shape(&":,::0".parse().unwrap(), &[4, 5]), Err(NdError::ZeroStep { axis: 1 }));
    assert!(matches!(shape(&"0,0,0".parse().unwrap(), &[4, 5]), Err(NdError::Rank { expected: 2, found: 3, .. })));
    assert!(matches!(shape(&Selection::points([[4, 0]]), &[4, 5]), Err(NdError::OutOfBounds { .. })));
    assert!(matches!(shape(&Selection::points([[0]]), &[4, 5]), Err(NdError::Rank { expected: 2, found: 1, .. })));
    let ragged = Selection::points([vec![0, 0], vec![0]]);
    assert!(matches!(shape(&ragged, &[4, 5]), Err(NdError::Rank { expected: 2, found: 1, .. })));
    assert_eq!(shape(&Selection::item(&[0]), &[0]), Err(NdError::OutOfBounds { axis: 0, index: 0, len: 0 }));
}
