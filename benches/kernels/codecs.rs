//! Every codec on one filtered block, without the chunk around it.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use oxiblosc_bench::settings::Codec;
use oxiblosc_bench::workload::Source;
use oxiblosc_core::FilterId;
use oxiblosc_core::codec::CodecContext;
use oxiblosc_core::filter::BlockContext;
use oxiblosc_core::registry::Registry;
use oxiblosc_plugins as _;

const BLOCK: usize = 256 << 10;

fn codecs(criterion: &mut Criterion) {
    let registry = Registry::linked().expect("plugins are linked");
    for name in ["disparity-f32", "timestamps-i64", "image-u16"] {
        let workload = Source::named(name).and_then(|source| source.load(BLOCK).ok()).expect("one of the data sets");
        let block = BlockContext::new(workload.typesize);
        let mut shuffled = vec![0; BLOCK];
        let mut shuffle = registry.filter(FilterId::SHUFFLE).expect("built in").instance();
        shuffle.forward(&block, &workload.bytes, &mut shuffled).expect("shuffle takes any block");

        for codec in Codec::ALL {
            let mut group = criterion.benchmark_group(format!("{}/{name}", codec.name()));
            group.throughput(Throughput::Bytes(BLOCK as u64));
            let mut instance = registry.codec(codec.id()).expect("built in").instance();
            for level in [1, 5, 9] {
                if level == 9 && matches!(codec, Codec::Zstd | Codec::Zlib | Codec::Lz4Hc) {
                    continue;
                }
                let ctx = CodecContext::new(block, level);
                let mut coded = vec![0; BLOCK];
                group.bench_function(BenchmarkId::new("compress", level), |b| {
                    b.iter(|| instance.compress(&ctx, &shuffled, &mut coded));
                });
                // A block that does not get shorter is stored, so there is nothing to decode.
                let Ok(Some(len)) = instance.compress(&ctx, &shuffled, &mut coded) else { continue };
                let mut decoded = vec![0; BLOCK];
                group.bench_function(BenchmarkId::new("decompress", level), |b| {
                    b.iter(|| instance.decompress(&ctx, &coded[..len], &mut decoded));
                });
                instance.decompress(&ctx, &coded[..len], &mut decoded).expect("its own output");
                assert!(decoded == shuffled, "{} {level} {name}", codec.name());
            }
        }
    }
}

criterion_group!(benches, codecs);
criterion_main!(benches);
