//! Every filter in both directions, with every instruction set of this machine, to see which kernel is fastest where.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use oxiblosc_bench::workload::Source;
use oxiblosc_core::filter::{BlockContext, Filter};
use oxiblosc_plugins::filters::{BitShuffle, ByteDelta, Shuffle};
use oxiblosc_plugins::simd::Level;

const BLOCK: usize = 256 << 10;

fn filters(criterion: &mut Criterion) {
    let source = Source::named("noisy-f32").expect("one of the data sets");
    let src = source.load(BLOCK).expect("a synthetic data set needs no file").bytes;
    let mut dst = vec![0; BLOCK];
    for level in Level::available() {
        let filters: [(&str, Box<dyn Filter>); 3] = [
            ("shuffle", Box::new(Shuffle::with_level(level))),
            ("bitshuffle", Box::new(BitShuffle::with_level(level))),
            ("bytedelta", Box::new(ByteDelta::with_level(level))),
        ];
        for (name, mut filter) in filters {
            let mut group = criterion.benchmark_group(format!("{name}/{level}"));
            group.throughput(Throughput::Bytes(BLOCK as u64));
            for typesize in [2u8, 3, 4, 8, 12, 16] {
                let mut ctx = BlockContext::new(typesize.into());
                if name == "bytedelta" {
                    ctx.meta = typesize;
                }
                group.bench_function(BenchmarkId::new("forward", typesize), |b| {
                    b.iter(|| filter.forward(&ctx, &src, &mut dst));
                });
                group.bench_function(BenchmarkId::new("backward", typesize), |b| {
                    b.iter(|| filter.backward(&ctx, &src, &mut dst));
                });
            }
        }
    }
}

criterion_group!(benches, filters);
criterion_main!(benches);
