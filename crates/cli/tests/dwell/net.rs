use crate::run::{data, dwell, testdata};

fn plan(arguments: &[&str]) -> serde_json::Value {
    let map = testdata("net/ladder.toml");
    dwell(&[&["net", "plan", &map, "--format", "json"], arguments].concat()).ok().json()
}

/// What it says adds up, and at the end every link is a segment.
#[test]
fn a_plan_ends_where_every_link_is_measured() {
    for strategy in ["greedy", "saving", "random"] {
        let report = plan(&["--routers", "12", "--strategy", strategy]);
        assert_eq!(report["schema"], "dwell.net-plan/1");
        assert_eq!((&report["routers"], &report["links"]), (&12.into(), &32.into()));
        let curve = report["curve"].as_array().unwrap();
        assert_eq!(curve.len(), 13);
        assert_eq!((&curve[0]["added"], &curve[0]["segments"]), (&serde_json::Value::Null, &report["paths"]));
        let hops: Vec<u64> = curve.iter().map(|point| point["probe_hops"].as_u64().unwrap()).collect();
        assert!(hops.is_sorted_by(|a, b| a >= b) && hops[0] > 3 * hops[12], "{hops:?}");
        assert_eq!(curve[12]["granularity"]["max"], 1);
        assert_eq!(curve[12]["probe_hops"], curve[12]["segments"]);
    }
    assert_eq!(plan(&[])["curve"].as_array().unwrap().len(), 3, "a sixth of twelve");
}

#[test]
fn costs_decide() {
    let folder = tempfile::tempdir().unwrap();
    let costs = folder.path().join("costs.csv");
    std::fs::write(&costs, "router,cost\nb1,9\nb2,9\nb3,9\nb4,9\nb5,9\nb6,9\n").unwrap();
    let costs = costs.to_str().unwrap();
    let cheap = plan(&["--costs", costs, "--budget", "3", "--routers", "12"]);
    let added: Vec<&str> =
        cheap["curve"].as_array().unwrap().iter().filter_map(|point| point["added"].as_str()).collect();
    assert_eq!(added.len(), 3);
    assert!(added.iter().all(|name| name.starts_with('a')), "{added:?}");
    let greedy = plan(&["--routers", "1"]);
    assert!(greedy["curve"][1]["added"].as_str().unwrap().starts_with('b'), "traffic takes the cheap row");
}

#[test]
fn paths_say_who_probes_whom() {
    let map = testdata("net/ladder.toml");
    let report = dwell(&["net", "paths", &map, "--instrumented", "b3,b4", "--format", "json"]).ok().json();
    let probes = report["probes"].as_array().unwrap();
    let hops: u64 = probes.iter().map(|probe| probe["hops"].as_u64().unwrap()).sum();
    assert_eq!(report["probe_hops"], hops);
    for probe in probes {
        let via: Vec<&str> = probe["via"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(via.len() as u64 + 1, probe["hops"].as_u64().unwrap());
        assert!(!via.contains(&"b3") && !via.contains(&"b4"), "{probe}");
    }
    // Three neighbours each.
    assert_eq!((&report["inner_pairs"], &report["aggregator_bps"]), (&18.into(), &(18 * 72_000).into()));
    let table = dwell(&["net", "paths", &map, "--routers", "2"]).ok();
    assert!(String::from_utf8(table.out).unwrap().contains("2 instrumented routers"));
}

#[test]
fn every_form_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let [table, csv, picture] = ["plan.txt", "plan.csv", "plan.png"].map(|name| folder.path().join(name));
    let map = testdata("net/ladder.toml");
    let to = |path: &std::path::PathBuf| path.to_str().unwrap().to_owned();
    dwell(&["net", "plan", &map, "-o", &to(&table), "--plot", &to(&picture)]).ok();
    dwell(&["net", "plan", &map, "-o", &to(&csv), "--format", "csv"]).ok();
    assert!(std::fs::read_to_string(&table).unwrap().contains("12 routers, 32 links"));
    assert_eq!(std::fs::read_to_string(&csv).unwrap().lines().count(), 4);
    assert!(std::fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn wrong_maps_and_wishes_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let map = testdata("net/ladder.toml");
    let write = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let negative = write("negative", b"a b 1\nb a -1\n");
    let binary = write("binary", &[0xff, 0xfe, 0]);
    let empty = write("empty", b"");
    let costs = write("costs", b"router,cost\nb1,none\n");
    let absent = folder.path().join("absent");
    let cases = [
        (vec!["net", "plan", &negative], 1, "line 2"),
        (vec!["net", "plan", &binary], 1, "no text"),
        (vec!["net", "plan", &empty], 1, "no links"),
        (vec!["net", "plan", absent.to_str().unwrap()], 1, "absent"),
        (vec!["net", "plan", &map, "--costs", &costs], 1, "line 2"),
        (vec!["net", "paths", &map, "--instrumented", "b9"], 2, "b9"),
        (vec!["net", "plan", &map, "--budget", "-3"], 2, "cost above 0"),
        (vec!["net", "plan", &map, "-o", &map], 2, "is read"),
        (vec!["net", "grow", &map], 2, "grow"),
    ];
    for (arguments, code, words) in cases {
        let run = dwell(&arguments);
        assert_eq!((run.code, run.err.lines().count()), (code, 1), "{arguments:?}: {}", run.err);
        assert!(run.err.contains(words), "{arguments:?}: {}", run.err);
        assert!(run.out.is_empty());
    }
}

/// Every map that is here is read, and planned for within seconds.
#[test]
fn maps_of_the_world() {
    let Some(data) = data() else { return };
    let folder = data.join("topologies");
    for (map, routers) in [
        ("rocketfuel/1221/weights.intra", 108),
        ("rocketfuel/3257/weights.intra", 161),
        ("topology-zoo/Geant2012.graphml", 40),
        ("topology-zoo/Garr201201.graphml", 61),
        ("topology-zoo/WideJpn.graphml", 30),
        ("topology-zoo/Kdl.graphml", 754),
    ] {
        let path = folder.join(map);
        let run = dwell(&["net", "plan", path.to_str().unwrap(), "--routers", "10", "--format", "json"]);
        assert_eq!(run.code, 0, "{map}: {}", run.err);
        assert_eq!(run.json()["routers"], routers, "{map}");
    }
}
