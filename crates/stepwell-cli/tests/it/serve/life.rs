//! How a service starts, changes its models and ends.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
                    // The service asks for the connection to end: it goes.
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
        // What cannot be read changes nothing.
        fs::write(&model, "no model").unwrap();
        service.signal("HUP");
        service.wait_for("reload failed");
        assert_eq!(service.post("/predict", graph).body, bodies[0]);
        // Workers end by themselves: every request is answered, the last asks them to go.
        service.signal("TERM");
        service.wait_for("stopped");
        stop.store(true, Ordering::Relaxed);
    });
    assert!(answered.load(Ordering::Relaxed) > 100);
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
    assert!(failure(&[], 2).contains("--model"));
}
