//! Examples at the end of the help of each subcommand. Tests run them, with files of these names: data.npy, data.b2nd,
//! more.npy and other.b2nd are arrays of the same rows, grown.b2nd has been appended to, data.csv.gz is a compressed
//! stream, log.b2frame is an open-ended frame that came through a pipe, and damaged.b2frame has lost its end.

pub(super) const COMPRESS: &str = "\
Examples:
  An array of the dtype and shape of a .npy file:
    oxiblosc compress data.npy data.b2nd
  With other parameters, and with what it takes to find damage later:
    oxiblosc compress data.npy data.b2nd --codec lz4 --filter bitshuffle --checksum xxh3
  A directory with a file for each chunk:
    oxiblosc compress data.npy data --layout sparse --chunks 1,12,48,64
  A stream that is compressed already:
    oxiblosc compress data.csv.gz data.b2frame
  From a pipe, and into one:
    cat more.npy | oxiblosc compress - - --codec lz4 | wc -c
";

pub(super) const COMMIT: &str = "\
Examples:
  Two jobs that write half of an array each, and what makes it visible:
    oxiblosc compress data.npy ab --part 1/2 && oxiblosc compress more.npy ab --part 2/2 && oxiblosc commit ab --parts 2
";

pub(super) const CAT: &str = "\
Examples:
  Part of an array, in C order:
    oxiblosc cat data.b2nd --slice '0, 10:20, ::-1' > part
  The last items of anything:
    oxiblosc cat data.b2nd --items -1000: > items
  All of it, as a stream that zstd reads:
    oxiblosc cat data.b2nd --encode zstd > data.zst
";

pub(super) const INFO: &str = "\
Examples:
  What it is, and a drawing on a terminal:
    oxiblosc info data.b2nd
  Where it compresses badly, as a picture too:
    oxiblosc info data.b2nd --ratio-map --svg data.svg
  For programs:
    oxiblosc info data.b2nd --json
";

pub(super) const VERIFY: &str = "\
Examples:
  Decode everything, and compare checksums and fingerprint if there are any:
    oxiblosc verify data.b2nd
";

pub(super) const APPEND: &str = "\
Examples:
  Rows, all of them or none:
    oxiblosc append data.b2nd more.npy
";

pub(super) const COPY: &str = "\
Examples:
  A directory with a file for each chunk, which the slash asks for:
    oxiblosc copy data.b2nd data/
  A part of an array, as an array of the same parameters:
    oxiblosc copy data.b2nd part.b2nd --slice '0, 10:20'
";

pub(super) const DIFF: &str = "\
Examples:
  Whether two arrays hold the same items, however they are encoded:
    oxiblosc diff data.b2nd other.b2nd --only data
  Everything, for programs:
    oxiblosc diff data.b2nd data.b2nd --json
";

pub(super) const RECOMPRESS: &str = "\
Examples:
  Smaller; what is not named stays as it is:
    oxiblosc recompress data.b2nd small.b2nd --codec zstd --level 9
  Other chunks and blocks, in place:
    oxiblosc recompress data.b2nd data.b2nd --chunks 1,12,48,64 --blocks 1,6,24,32
";

pub(super) const COMPACT: &str = "\
Examples:
  Remove what appending has left:
    oxiblosc compact grown.b2nd
";

pub(super) const RECOVER: &str = "\
Examples:
  Save every complete chunk:
    oxiblosc recover damaged.b2frame saved.b2frame
  For programs:
    oxiblosc recover damaged.b2frame saved.b2frame --json
";

pub(super) const SEAL: &str = "\
Examples:
  Make a plain frame of one that came through a pipe, in place:
    oxiblosc seal log.b2frame
";

#[cfg(feature = "serve")]
pub(super) const SERVE: &str = "\
Examples:
  This directory, for whoever asks; `info` is somebody who does:
    oxiblosc serve . --port 0 > url & sleep 1; oxiblosc info $(cat url)data.b2nd; kill $!
  A slice as a .npy file:
    oxiblosc serve data.b2nd --port 0 > url & sleep 1; curl -so part.npy \"$(cat url)data.b2nd?slice=0,5:10&format=npy\"; kill $!
";

pub(super) const PLUGINS: &str = "\
Examples:
  All filters and codecs, with their ids:
    oxiblosc plugins
";

pub(super) const BENCH: &str = "\
Examples:
  How fast this machine is with this file:
    oxiblosc bench data.npy
  With other parameters, for programs:
    oxiblosc bench data.npy --codec lz4 --filter bitshuffle --seconds 0.1 --json
";

pub(super) const TUNE: &str = "\
Examples:
  Find the parameters for a file:
    oxiblosc tune data.npy
  Draw what was found:
    oxiblosc tune data.npy --plot data.svg
";

pub(super) const COMPLETIONS: &str = "\
Examples:
  For bash, in a directory that it reads at the start:
    oxiblosc completions bash > oxiblosc.bash
";

pub(super) const MAN: &str = "\
Examples:
  A page for each subcommand:
    oxiblosc man man1
";
