//! How a service starts, reloads its models and stops.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use stepwell::rng::Stream;

use super::*;

#[test]
fn reloading_and_stopping_lose_no_request() {
    let folder = Folder::new();
    let (model, graphs) = trained(&folder, &SMALL);
    let other = folder.at("other.safetensors");
    stepwell()
        .args(["train", "b-easy-small", "-q", "-m", &other, "--seed", "5"])
        .args(SMALL)
        .assert()
        .success();
    let graph = graphs.lines().next().unwrap();
    let bodies: Vec<Vec<u8>> =
        [&model, &other].map(|path| Service::start(&["-m", path]).post("/predict", graph).body).to_vec();
    assert_ne!(bodies[0], bodies[1], "the models differ");

    let (first, second) = (fs::read(&model).unwrap(), fs::read(&other).unwrap());
    let service = Service::start(&["-m", &model]);
    let (stop, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (service, bodies, stop, answered) = (&service, &bodies, &stop, &answered);
            scope.spawn(move || {
                let mut draining = false;
                while !stop.load(Ordering::Relaxed) && !draining {
                    let reply = service.post("/predict", graph);
                    assert_eq!(reply.status, 200, "{}", reply.text());
                    assert!(bodies.contains(&reply.body), "one model or the other: {}", reply.text());
                    answered.fetch_add(1, Ordering::Relaxed);
                    // The service asks to close the connection, so the client closes it.
                    draining = reply.header("connection") == "close";
                }
            });
        }
        for round in 0..6 {
            let before = answered.load(Ordering::Relaxed);
            let [content, expected] = [[&second, &bodies[1]], [&first, &bodies[0]]][round % 2];
            stepwell_data::models::write(model.as_ref(), content).unwrap();
            service.log.lock().unwrap().clear();
            service.signal("HUP");
            service.wait_for("reloaded");
            assert_eq!(service.post("/predict", graph).body, *expected, "the model is the new one");
            while answered.load(Ordering::Relaxed) < before + 20 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        // A model that cannot be read changes nothing.
        fs::write(&model, "no model").unwrap();
        service.signal("HUP");
        service.wait_for("reload failed");
        assert_eq!(service.post("/predict", graph).body, bodies[0]);
        // The clients end by themselves: every request is answered, and the last response asks them
        // to close.
        service.signal("TERM");
        service.wait_for("stopped");
        stop.store(true, Ordering::Relaxed);
    });
    assert!(answered.load(Ordering::Relaxed) > 100);
}

#[test]
fn the_last_signal_decides_which_models_are_served() {
    let folder = Folder::new();
    let (model, _) = trained(&folder, &SMALL);
    let (served, other) = (folder.at("served.safetensors"), folder.at("other.safetensors"));
    // The other model takes longer to read, so that a reload of it could end last.
    stepwell()
        .args(["train", "b-easy-small", "-q", "-m", &other, "--units", "200", "--preset", "paper"])
        .assert()
        .success();
    let [small, large] = [&model, &other].map(|path| fs::read(path).unwrap());
    assert!(large.len() > small.len());
    stepwell_data::models::write(served.as_ref(), &small).unwrap();
    let service = Service::start(&["-m", &served]);
    let sum = |reply: Reply| -> Value {
        let cards: Value = serde_json::from_slice(&reply.body).unwrap();
        cards["served"]["sha256"].clone()
    };
    let expected = sum(service.get("/models"));
    for round in 0..10 {
        service.log.lock().unwrap().clear();
        stepwell_data::models::write(served.as_ref(), &large).unwrap();
        service.signal("HUP");
        std::thread::sleep(Duration::from_millis(5 * round));
        stepwell_data::models::write(served.as_ref(), &small).unwrap();
        service.signal("HUP");
        // The reload after the last signal reads the small model, and no other follows.
        let start = Instant::now();
        while service
            .log
            .lock()
            .unwrap()
            .iter()
            .rfind(|line| line["event"] == "reloaded")
            .is_none_or(|line| line["sha256"]["served"] != expected)
        {
            assert!(start.elapsed() < Duration::from_secs(60), "the first model is reloaded");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(sum(service.get("/models")), expected, "round {round}");
    }
    service.stop();
}

#[test]
fn small_requests_pass_large_ones() {
    let folder = Folder::new();
    let options = ["--preset", "paper", "--units", "200", "--tol", "1e-12"];
    let (model, graphs) = trained(&folder, &options);
    let service = Service::start(&["-m", &model, "--timeout", "300"]);
    let graph = graphs.lines().next().unwrap();
    // A random tree, whose vertices all differ.
    let count = 150_000;
    let mut stream = Stream::new(3, "large request", [0, 0]);
    let ends: Vec<usize> = (1..count).map(|vertex| stream.below(vertex)).collect();
    let x: Vec<String> = (0..5 * count).map(|_| format!("{:.4}", stream.normal())).collect();
    let body = format!(
        "{{\"num_nodes\":{count},\"src\":{:?},\"dst\":{ends:?},\"x\":[{}],\"x_dim\":5}}",
        (1..count).collect::<Vec<_>>(),
        x.join(",")
    );
    // As many of them as there are threads. Nobody reads the responses, which take long.
    let head = format!("POST /predict HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", body.len());
    let large = [(); 2].map(|()| {
        let mut client = TcpStream::connect(&service.address).unwrap();
        client.write_all(head.as_bytes()).unwrap();
        client.write_all(body.as_bytes()).unwrap();
        client
    });
    let in_progress = || service.get("/metrics").text().contains("stepwell_requests_in_flight 2\n");
    while !in_progress() {
        std::thread::sleep(Duration::from_millis(5));
    }
    // Both are parsed by now, and compute.
    std::thread::sleep(Duration::from_secs(1));
    for _ in 0..5 {
        assert_eq!(service.post("/predict", graph).lines().len(), 1);
        assert!(in_progress(), "the small request was answered while the large ones compute");
    }
    drop(large);
    service.stop();
}

#[test]
fn a_short_body_may_declare_many_vertices() {
    let folder = Folder::new();
    let (data, model) = (folder.at("graphs.jsonl"), folder.at("model.safetensors"));
    let graph = |n: usize, ring: usize| {
        let from: Vec<usize> = (0..n - 1 + ring).collect();
        let to: Vec<usize> = from.iter().map(|vertex| (vertex + 1) % n).collect();
        format!("{{\"num_nodes\":{n},\"src\":{from:?},\"dst\":{to:?},\"y\":{ring}}}\n")
    };
    let graphs: String = (4..20).map(|n| graph(n, n % 2)).collect();
    fs::write(&data, &graphs).unwrap();
    stepwell().args(["train", &data, "-q", "-m", &model]).args(SMALL).assert().success();
    let service = Service::start(&["-m", &model]);
    let many = "{\"id\":1,\"num_nodes\":40000,\"src\":[0],\"dst\":[1]}";
    std::thread::scope(|scope| {
        for worker in 0..6 {
            let (service, small) = (&service, graphs.lines().nth(worker).unwrap());
            scope.spawn(move || {
                for _ in 0..5 {
                    assert_eq!(service.post("/predict", many).lines()[0]["id"], 1);
                    assert_eq!(service.post("/predict", small).lines().len(), 1);
                }
            });
        }
    });
    service.stop();
}

#[test]
fn a_token_is_asked_for() {
    let folder = Folder::new();
    let (model, graphs) = trained(&folder, &SMALL);
    let token = folder.at("token");
    fs::write(&token, "open sesame\n").unwrap();
    let service = Service::start(&["-m", &model, "--token-file", &token]);
    let graph = graphs.lines().next().unwrap();
    let refused = service.post("/predict", graph);
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, "Bearer"));
    assert_eq!(service.get("/metrics").status, 401);
    assert_eq!(service.get("/health").status, 200);
    let with = |token: &str| {
        let request = service.agent.post(service.url("/predict")).header("authorization", token);
        reply(request.send(graph).unwrap()).status
    };
    assert_eq!(with("Bearer open sesame"), 200);
    assert_eq!(with("bearer open sesame"), 200);
    assert_eq!(with("Bearer open sesam"), 401);
    assert_eq!(with("Basic b3BlbiBzZXNhbWU="), 401);
    service.stop();

    let open = Service::start(&["-m", &model, "--listen", "0.0.0.0:0"]);
    assert!(open.wait_for("no token")["reason"].as_str().unwrap().contains("set a token"));
    let service = Service::start_with(&["-m", &model, "--listen", "0.0.0.0:0"], &[("STEPWELL_TOKEN", "x")]);
    assert_eq!(service.post("/predict", graph).status, 401);
    assert!(service.log.lock().unwrap().iter().all(|line| line["event"] != "no token"));
}

#[test]
fn what_cannot_be_served_is_said_at_once() {
    let folder = Folder::new();
    let (model, _) = trained(&folder, &SMALL);
    let failure = |arguments: &[&str], code| {
        let done = stepwell().arg("serve").args(arguments).assert().code(code);
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    assert!(failure(&["-m", "absent.safetensors"], 1).contains("absent.safetensors"));
    assert!(failure(&["-m", &model, "-m", &model], 2).contains("two models are called 'model'"));
    assert!(failure(&["-m", &model, "--listen", "nowhere"], 1).contains("cannot listen on nowhere"));
    let port = failure(&["-m", &model, "--listen", "18080"], 1);
    assert!(port.contains("expected HOST:PORT, such as 127.0.0.1:18080"), "{port}");
    assert!(failure(&[], 2).contains("--model"));
}
