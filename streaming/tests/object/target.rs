//! Frames as one object, both ways: parts in any order while the frame is written, and parts in order at the end.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::AsyncWriteExt;
use object_store::path::Path;
use object_store::{Attribute, Attributes, TagSet};
use oxiblosc_core::chunk::EncodeParams;
use oxiblosc_core::pipeline::FilterSlots;
use oxiblosc_streaming::source::ObjectSource;
use oxiblosc_streaming::target::{ObjectTarget, Part, Target};
use oxiblosc_streaming::{ErrorKind, FrameReader, FrameSink, WriteOptions, block_on, blocking};

use crate::common::{self, CHUNK, Random};
use crate::server::{Failure, Server};

const KEY: &str = "a/b";
const PART: usize = 3 * CHUNK;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Streamed,
    Spooled,
}

const WAYS: [Way; 2] = [Way::Streamed, Way::Spooled];

fn target(way: Way, server: &Arc<Server>) -> ObjectTarget {
    let target = match way {
        Way::Streamed => ObjectTarget::with_multipart(Arc::clone(server), KEY),
        // A part stays in memory, so that both places are read from.
        Way::Spooled => ObjectTarget::new(Arc::clone(server) as _, KEY).memory_limit(PART),
    };
    target.part_size(PART).parts_in_flight(2)
}

/// Frames of the same length, whatever is in them: only in their chunks do they differ.
fn stored() -> WriteOptions {
    let params = EncodeParams { level: 0, filters: FilterSlots::NONE, ..EncodeParams::default() };
    WriteOptions::new(params).chunk_size(CHUNK)
}

fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.below(256) as u8).collect()
}

/// A frame of one part, and one of several.
const LENS: [usize; 2] = [CHUNK, 20 * CHUNK + 5];

fn sink(target: ObjectTarget, content: &[u8]) -> FrameSink<ObjectTarget> {
    let mut sink = stored().sink(target).unwrap();
    block_on(sink.write_all(content)).unwrap();
    sink
}

fn content(server: &Arc<Server>) -> Vec<u8> {
    let source = ObjectSource::new(Arc::clone(server) as _, Path::from(KEY));
    block_on(async {
        let reader = FrameReader::open(source).await?;
        reader.bytes(0..reader.nbytes()).await
    })
    .unwrap()
    .to_vec()
}

fn kind(error: oxiblosc_streaming::WriteError) -> ErrorKind {
    ErrorKind::of(&io::Error::from(error))
}

#[test]
fn attributes_and_tags_arrive() {
    let attributes = Attributes::from_iter([
        (Attribute::ContentType, "application/x-blosc2"),
        (Attribute::Metadata("run".into()), "7"),
    ]);
    let mut tags = TagSet::default();
    tags.push("project", "x");
    for way in WAYS {
        for len in LENS {
            let server = Server::new(false, None);
            let target = target(way, &server).attributes(attributes.clone()).tags(tags.clone());
            block_on(sink(target, &noise(len, 1)).close()).unwrap();
            assert_eq!(*server.options.lock().unwrap(), [(attributes.clone(), tags.clone())], "{way:?} {len}");
        }
    }
}

/// The answer to the last request is lost, with which the object was made; whoever tries again succeeds.
#[test]
fn a_lost_response_is_made_up_for() {
    for way in WAYS {
        for (len, create_only) in [(LENS[0], false), (LENS[0], true), (LENS[1], false), (LENS[1], true)] {
            for failures in [
                vec![Failure::Response],
                vec![Failure::Request],
                vec![Failure::Request, Failure::Response],
                vec![Failure::Request, Failure::Request, Failure::Response],
            ] {
                let (server, data) = (Server::new(false, None), noise(len, 2));
                if !create_only {
                    // Of the same length and with the same header.
                    block_on(sink(target(way, &server), &noise(len, 3)).close()).unwrap();
                }
                let mut sink = sink(target(way, &server).create_only(create_only), &data);
                server.fail(failures.iter().copied());
                let closed = block_on(sink.close());
                assert!(closed.is_err(), "{way:?} {len} {create_only} {failures:?}");
                // A later attempt may look itself whether it has succeeded.
                let mut attempts = 1;
                while let Err(error) = block_on(sink.close()) {
                    attempts += 1;
                    assert!(attempts <= failures.len(), "{way:?} {len} {create_only} {failures:?}: {error}");
                }
                assert!(content(&server) == data, "{way:?} {len} {create_only} {failures:?}");
                drop(sink);
                blocking::settle();
                assert!(server.uploads().is_empty(), "{way:?} {len} {create_only} {failures:?}");
            }
        }
    }
}

/// A request that fails for good is no success because there is an old object that looks like the new one.
#[test]
fn an_old_object_is_not_taken_for_the_new_one() {
    for way in WAYS {
        for len in LENS {
            let (server, old) = (Server::new(false, None), noise(len, 4));
            block_on(sink(target(way, &server), &old).close()).unwrap();
            let mut sink = sink(target(way, &server), &noise(len, 5));
            server.fail([Failure::Request; 3]);
            for _ in 0..3 {
                assert!(block_on(sink.close()).is_err(), "{way:?} {len}");
            }
            block_on(sink.abort()).unwrap();
            assert!(server.uploads().is_empty());
            assert!(content(&server) == old);
        }
    }
}

#[test]
fn create_only_leaves_what_is_there() {
    for way in WAYS {
        for len in LENS {
            // What is there may look like the frame.
            for old in [b"old".to_vec(), common::frame(&noise(len, 6), stored())] {
                for early in [true, false] {
                    let server = Server::new(false, None);
                    if early {
                        server.put_by_another(KEY, old.clone());
                    }
                    let mut sink = sink(target(way, &server).create_only(true), &noise(len, 7));
                    if !early {
                        // While the first attempt fails.
                        server.fail([Failure::Request]);
                        assert!(block_on(sink.close()).is_err());
                        server.put_by_another(KEY, old.clone());
                    }
                    for _ in 0..2 {
                        let error = block_on(sink.close()).unwrap_err();
                        assert_eq!(kind(error), ErrorKind::AlreadyExists, "{way:?} {len} {early}");
                    }
                    block_on(sink.abort()).unwrap();
                    assert!(server.uploads().is_empty());
                    assert!(server.object(KEY).as_ref() == Some(&old));
                }
            }
        }
    }
}

/// Whoever gives up in the middle of a commit leaves the whole object or none, and no parts.
#[test]
fn commits_are_given_up_at_every_poll() {
    let data = noise(LENS[1], 8);
    let whole = common::frame(&data, stored());
    let header_len = u32::from_be_bytes(whole[11..15].try_into().unwrap()) as usize;
    let header = Bytes::copy_from_slice(&whole[..header_len]);
    for way in WAYS {
        for polls in [1, 2, 3, 5, 8, 13, 40] {
            for abort in [false, true] {
                let server = Server::new(false, Some(Duration::from_millis(3)));
                let mut target = target(way, &server);
                block_on(async {
                    let rest = Bytes::copy_from_slice(&whole[header_len..]);
                    for (part, mut bytes) in [(Part::Header, header.clone()), (Part::Chunk(0), rest)] {
                        while !bytes.is_empty() {
                            poll_fn(|cx| target.poll_append(cx, part, &mut bytes)).await.unwrap();
                        }
                    }
                    poll_fn(|cx| target.poll_flush(cx)).await.unwrap();
                });
                for _ in 0..polls {
                    common::poll_and_drop(1, poll_fn(|cx| target.poll_commit(cx, &header)));
                    std::thread::sleep(Duration::from_millis(1));
                }
                if abort {
                    block_on(poll_fn(|cx| target.poll_abort(cx))).unwrap();
                }
                drop(target);
                blocking::settle();
                assert!(server.uploads().is_empty(), "{way:?} {polls} {abort}");
                let found = server.object(KEY);
                assert!(found.is_none_or(|found| found == whole), "{way:?} {polls} {abort}");
            }
        }
    }
}
