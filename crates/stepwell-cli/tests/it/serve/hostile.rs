//! Malformed and hostile requests.

use std::io::{Read, Write};
use std::net::TcpStream;

use stepwell::rng::Stream;

use super::*;

/// A body with a fault in it.
fn broken(stream: &mut Stream, whole: &[impl AsRef<[u8]>]) -> Vec<u8> {
    const PARTS: [&str; 16] = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        "null",
        "-1",
        "1e999",
        "4294967296",
        "NaN",
        "\n",
        "\u{feff}",
        "\"src\":",
        "\\u0000",
        "268435456",
        "\"x\":[1],\"x_dim\":9",
    ];
    let mut below = |most: usize| (stream.uniform_in(0.0, most as f64) as usize).min(most.saturating_sub(1));
    let mut body = whole[below(whole.len())].as_ref().to_vec();
    for _ in 0..1 + below(4) {
        let at = below(body.len() + 1);
        match below(6) {
            0 => body.truncate(at),
            1 => drop(body.splice(at..at, PARTS[below(PARTS.len())].bytes())),
            2 if at < body.len() => body[at] = below(256) as u8,
            3 if at < body.len() => drop(body.remove(at)),
            4 => {
                let more = body.clone();
                body.splice(at..at, more);
            }
            _ => {
                let end = (at + below(40)).min(body.len());
                body.drain(at..end);
            }
        }
    }
    body
}

#[test]
fn broken_bodies_are_refused_with_a_sentence() {
    let folder = Folder::new();
    let (model, graphs) = trained(&folder, &SMALL);
    let limits = ["--max-vertices", "20000", "--timeout", "20"];
    let service = Service::start(&[&["-m", model.as_str()], &limits[..]].concat());
    let graphs: Vec<&str> = graphs.lines().collect();
    let count: usize = std::env::var("STEPWELL_HOSTILE").map_or(3000, |text| text.parse().unwrap());
    let whole = service.post("/predict", graphs[0]).body;
    let arrow = arrow_stream(&graphs[..20].join("\n"));
    let kinds = ["application/x-ndjson", "application/vnd.apache.arrow.stream", "application/json"];
    std::thread::scope(|scope| {
        for worker in 0..4u64 {
            let (service, graphs, whole, arrow) = (&service, &graphs, &whole, &arrow);
            scope.spawn(move || {
                let mut stream = Stream::new(7, "hostile bodies", [worker, 0]);
                for index in 0..count / 4 {
                    let kind = kinds[index % 7 % 3];
                    let body = match kind {
                        "application/vnd.apache.arrow.stream" => {
                            broken(&mut stream, std::slice::from_ref(arrow))
                        }
                        _ => broken(&mut stream, graphs),
                    };
                    let path = ["/predict", "/predict?skip_bad=1", "/embed", "/predict?proba=1"][index % 4];
                    let reply = service.post_as(path, kind, "*/*", &body);
                    let shown = String::from_utf8_lossy(&body);
                    assert!(
                        reply.status == 200 || (400..500).contains(&reply.status),
                        "{}: {shown}",
                        reply.text()
                    );
                    if reply.status != 200 {
                        assert!(reply.error().len() > 10, "{shown}");
                    }
                    if index % 97 == 0 {
                        assert_eq!(
                            service.post("/predict", graphs[0]).body,
                            *whole,
                            "others are answered as ever"
                        );
                    }
                }
            });
        }
    });
    let log = service.log.lock().unwrap().clone();
    assert!(log.iter().all(|line| line["event"] != "panic"), "nothing panics");
    service.stop();
}

#[test]
fn limits_are_kept() {
    let folder = Folder::new();
    let (model, graphs) = trained(&folder, &SMALL);
    let limits = ["--max-body", "1", "--max-rows", "5", "--max-vertices", "1000", "--timeout", "2"];
    let service = Service::start(&[&["-m", model.as_str()], &limits[..]].concat());
    let few: String = graphs.lines().take(6).map(|line| format!("{line}\n")).collect();
    let check = |path: &str, kind: &str, body: &str, status: u16, words: &str| {
        let reply = service.post_as(path, kind, "*/*", body);
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
        assert!(reply.error().contains(words), "{path}: {}", reply.error());
    };
    let lines = "application/x-ndjson";
    check("/predict", lines, &few, 413, "more than 5 graphs");
    check("/predict", lines, &" ".repeat((1 << 20) + 1), 413, "longer than 1048576 bytes");
    check("/predict", lines, "{\"num_nodes\":1001,\"src\":[],\"dst\":[]}", 413, "limit of 1000");
    let x = vec![0; 600 * 5];
    let half = format!("{{\"num_nodes\":600,\"src\":[],\"dst\":[],\"x\":{x:?},\"x_dim\":5}}\n").repeat(2);
    check("/embed", lines, &half, 413, "more than 1000 vertices");
    let skipped =
        service.post("/embed?skip_bad=1", "{\"id\":\"big\",\"num_nodes\":1001,\"src\":[],\"dst\":[]}");
    assert_eq!((&skipped.lines()[0]["id"], skipped.lines().len()), (&"big".into(), 1));
    check("/predict", "image/png", &few, 415, "application/x-ndjson");
    check("/predict?probe=1", lines, &few, 400, "unknown parameter 'probe'");
    check("/predict?coverage=2", lines, &few, 400, "above 0 and below 1");
    check(
        "/predict",
        lines,
        "{\n  \"num_nodes\": 1,\n  \"src\": [], \"dst\": []\n}",
        400,
        "one graph per line",
    );
    check("/predict?proba=maybe", lines, &few, 400, "1 or 0");
    check("/nowhere", lines, &few, 404, "/predict");
    check("/health", lines, &few, 405, "GET");
    let refused = service.get("/predict");
    assert_eq!((refused.status, refused.header("allow")), (405, "POST"));

    // A client that never finishes its request, one that sends no request, and one that
    // disconnects.
    let mut slow = TcpStream::connect(&service.address).unwrap();
    slow.write_all(b"POST /predict HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{\"num").unwrap();
    let mut silent = TcpStream::connect(&service.address).unwrap();
    silent.write_all(b"POST /pre").unwrap();
    let mut gone = TcpStream::connect(&service.address).unwrap();
    gone.write_all(b"POST /predict HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{\"num").unwrap();
    drop(gone);
    let mut nonsense = TcpStream::connect(&service.address).unwrap();
    nonsense.write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").unwrap();
    let start = Instant::now();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("did not arrive within 2 s"), "{answer}");
    let mut answer = Vec::new();
    let _ = silent.read_to_end(&mut answer);
    assert!(start.elapsed() < Duration::from_secs(10), "neither is waited for");
    let mut answer = String::new();
    let _ = nonsense.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert_eq!(service.post("/predict", graphs.lines().next().unwrap()).status, 200);
}
