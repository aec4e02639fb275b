//! Input that arrives over time: a reader can check, without blocking, whether more is available.

use std::io::{self, BufRead, ErrorKind, Read};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

use memchr::memchr;

/// Bytes read at a time, and how many such parts may queue.
const PART: usize = 1 << 16;
const WAITING: usize = 64;

/// Reads ahead in its own thread.
#[derive(Debug)]
pub(crate) struct Live {
    parts: Receiver<io::Result<Vec<u8>>>,
    bytes: Vec<u8>,
    /// Bytes already consumed.
    taken: usize,
    /// An error that follows the bytes.
    error: Option<io::Error>,
    ended: bool,
}

impl Live {
    /// Reads from `input` until its end, or until the receiver is dropped.
    pub fn new(mut input: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, parts) = mpsc::sync_channel(WAITING);
        let read = move || {
            loop {
                let mut part = vec![0; PART];
                let found = match input.read(&mut part) {
                    Ok(0) => return,
                    Ok(length) => {
                        part.truncate(length);
                        Ok(part)
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = found.is_err();
                if sender.send(found).is_err() || failed {
                    return;
                }
            }
        };
        thread::Builder::new().name("input".into()).spawn(read)?;
        Ok(Self { parts, bytes: Vec::new(), taken: 0, error: None, ended: false })
    }

    /// Whether reading the next line would block.
    pub fn would_wait(&mut self) -> bool {
        let mut searched = self.taken;
        loop {
            if memchr(b'\n', &self.bytes[searched..]).is_some() || self.error.is_some() || self.ended {
                return false;
            }
            let rest = self.bytes.len() - self.taken;
            match self.parts.try_recv() {
                Ok(part) => self.add(part),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => self.ended = true,
            }
            searched = self.taken + rest;
        }
    }

    fn add(&mut self, part: io::Result<Vec<u8>>) {
        match part {
            Ok(part) if self.taken == self.bytes.len() => (self.bytes, self.taken) = (part, 0),
            Ok(part) => {
                self.bytes.drain(..self.taken);
                self.taken = 0;
                self.bytes.extend_from_slice(&part);
            }
            Err(error) => self.error = Some(error),
        }
    }
}

impl Read for Live {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(out)?;
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Live {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.taken == self.bytes.len() && !self.ended {
            if let Some(error) = self.error.take() {
                self.ended = true;
                return Err(error);
            }
            match self.parts.recv() {
                Ok(part) => self.add(part),
                Err(_) => self.ended = true,
            }
        }
        Ok(&self.bytes[self.taken..])
    }

    fn consume(&mut self, length: usize) {
        self.taken += length;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use super::*;

    #[test]
    fn lines_are_there_when_they_are_whole() {
        let (input, mut output) = io::pipe().unwrap();
        let mut live = Live::new(input).unwrap();
        let wait = |live: &mut Live, expected: bool| {
            for _ in 0..1000 {
                if live.would_wait() == expected {
                    return;
                }
                thread::sleep(Duration::from_millis(5));
            }
            panic!("would_wait stays {}", !expected);
        };
        let line = |live: &mut Live| {
            let mut line = String::new();
            live.read_line(&mut line).unwrap();
            line
        };
        assert!(live.would_wait());
        output.write_all(b"a\nb").unwrap();
        wait(&mut live, false);
        assert_eq!(line(&mut live), "a\n");
        thread::sleep(Duration::from_millis(20));
        assert!(live.would_wait(), "half a line is none");
        output.write_all(b"c\nlast").unwrap();
        wait(&mut live, false);
        assert_eq!(line(&mut live), "bc\n");
        drop(output);
        wait(&mut live, false);
        assert_eq!((line(&mut live), line(&mut live)), ("last".to_owned(), String::new()));
        assert!(!live.would_wait(), "the end does not wait");
    }

    #[test]
    fn everything_comes_through() {
        let text: Vec<u8> = (0..300_000u32).flat_map(|number| format!("{number}\n").into_bytes()).collect();
        let mut live = Live::new(io::Cursor::new(text.clone())).unwrap();
        let mut found = Vec::new();
        while live.would_wait() || !live.fill_buf().unwrap().is_empty() {
            live.read_until(b'\n', &mut found).unwrap();
        }
        assert!(found == text);
    }
}
