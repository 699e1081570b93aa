use crate::run::{assert_refusal, assert_refused, command, data, dwell, dwell_in, finish, testdata};

fn plan(arguments: &[&str]) -> serde_json::Value {
    let map = testdata("net/ladder.toml");
    dwell(&[&["net", "plan", &map, "--format", "json"], arguments].concat()).ok().json()
}

/// The numbers of a plan are consistent, and at its end every link is a segment.
#[test]
fn a_plan_ends_where_every_link_is_measured() {
    for strategy in ["greedy", "saving", "swap", "random"] {
        let report = plan(&["--routers", "12", "--strategy", strategy, "--bound"]);
        assert_eq!(report["schema"], "dwell.net-plan/1");
        assert_eq!((&report["routers"], &report["links"]), (&12.into(), &32.into()));
        let curve = report["curve"].as_array().unwrap();
        assert_eq!(curve.len(), 13);
        assert_eq!((&curve[0]["added"], &curve[0]["segments"]), (&serde_json::Value::Null, &report["paths"]));
        let hops: Vec<u64> = curve.iter().map(|point| point["probe_hops"].as_u64().unwrap()).collect();
        assert!(hops.is_sorted_by(|a, b| a >= b) && hops[0] > 3 * hops[12], "{hops:?}");
        assert_eq!(curve[12]["granularity"]["max"], 1);
        assert_eq!(curve[12]["probe_hops"], curve[12]["segments"]);
        assert_eq!(report["least_probe_hops"], curve[12]["probe_hops"]);
    }
    let few = plan(&["--routers", "3", "--strategy", "swap", "--bound"]);
    assert!(few["least_probe_hops"].as_u64().unwrap() <= few["curve"][3]["probe_hops"].as_u64().unwrap());
    assert!(plan(&[])["least_probe_hops"].is_null());
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
    // Each of the routers has three neighbours.
    assert_eq!((&report["inner_pairs"], &report["aggregator_bps"]), (&18.into(), &(18 * 72_000).into()));
    let table = dwell(&["net", "paths", &map, "--routers", "2"]).ok();
    assert!(String::from_utf8(table.out).unwrap().contains("2 instrumented routers"));
}

/// Without the link between b3 and b4, traffic takes the other row of the ladder there.
#[test]
fn links_may_fail() {
    let map = testdata("net/ladder.toml");
    let paths = |failed: &[&str]| {
        dwell(&[&["net", "paths", &map, "--instrumented", "b3,b4", "--format", "json"], failed].concat())
    };
    let (before, after) = (paths(&[]).ok().json(), paths(&["--failed", "b3,b4"]).ok().json());
    assert_eq!((&after["links"], &before["overlap"]), (&30.into(), &serde_json::Value::Null));
    assert_eq!((&before["failed_links"], &after["failed_links"]), (&0.into(), &2.into()));
    let table = dwell(&["net", "paths", &map, "--failed", "b3,b4"]).ok();
    assert!(String::from_utf8(table.out).unwrap().contains("12 routers, 30 links, 2 removed as failed, "));
    let [old, new] = [&before, &after].map(|report| report["probes"].as_array().unwrap());
    let overlap = &after["overlap"];
    let dropped = overlap["dropped"].as_array().unwrap();
    assert!(dropped.iter().all(|probe| old.contains(probe) && !new.contains(probe)) && !dropped.is_empty());
    assert!(dropped.iter().any(|probe| probe["from"] == "b3" && probe["to"] == "b4"));
    assert_eq!(overlap["added"], new.iter().filter(|probe| !old.contains(probe)).count());
    let hops = |probes: &[serde_json::Value]| probes.iter().map(|probe| probe["hops"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(overlap["probe_hops"], hops(new) + hops(dropped));
    for (link, words) in [("b3", "two routers"), ("b3,a4", "no link"), ("b3,c4", "c4")] {
        let run = paths(&["--failed", link]);
        assert!(run.code == 2 && run.err.contains(words), "{link}: {}", run.err);
    }
}

/// Only a1 and a6 have servers: they alone probe while no router is instrumented, and what the map says is where a plan
/// begins.
#[test]
fn servers_probe_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let ladder = testdata("net/ladder.toml");
    let map = folder.path().join("map.toml");
    let keys = "servers = [\"a1\", \"a6\"]\ninstrumented = [\"b3\"]\n";
    std::fs::write(&map, keys.to_owned() + &std::fs::read_to_string(&ladder).unwrap()).unwrap();
    let map = map.to_str().unwrap();
    let json = |arguments: &[&str]| dwell(&[&["net"], arguments, &["--format", "json"]].concat()).ok().json();

    let plain = json(&["paths", &ladder, "--servers", "a1,a6"]);
    let probers = |report: &serde_json::Value| -> Vec<String> {
        let probes = report["probes"].as_array().unwrap().iter();
        let mut names: Vec<String> = probes.map(|probe| probe["from"].as_str().unwrap().to_owned()).collect();
        names.dedup();
        names
    };
    assert_eq!((&plain["servers"], &plain["unreachable_pairs"]), (&2.into(), &0.into()));
    assert_eq!(probers(&plain), ["a1", "a6"]);
    assert_eq!(plain["probes"].as_array().unwrap().len() as u64, plain["paths"].as_u64().unwrap());
    let named = json(&["paths", map]);
    assert_eq!((&named["instrumented"], &named["paths"]), (&serde_json::json!(["b3"]), &plain["paths"]));
    assert_eq!(probers(&named), ["a1", "a6", "b3"]);
    let both = json(&["paths", map, "--instrumented", "b4,b3", "--servers", "b1", "--servers", "b6,b1"]);
    assert_eq!((&both["instrumented"], &both["servers"]), (&serde_json::json!(["b3", "b4"]), &2.into()));
    assert_eq!(probers(&both), ["b1", "b3", "b4", "b6"]);

    let plan = json(&["plan", map, "--routers", "2", "--strategy", "swap", "--bound"]);
    let curve = plan["curve"].as_array().unwrap();
    let start = (&curve[0]["routers"], &curve[0]["added"], &curve[0]["cost"], &curve[0]["probe_hops"]);
    assert_eq!(start, (&1.into(), &serde_json::Value::Null, &serde_json::json!(0.0), &named["probe_hops"]));
    assert_eq!((curve.len(), &curve[2]["routers"], &plan["instrumented"]), (3, &3.into(), &named["instrumented"]));
    assert!(plan["least_probe_hops"].as_u64() <= curve[2]["probe_hops"].as_u64());
    let table = String::from_utf8(dwell(&["net", "plan", map]).ok().out).unwrap();
    assert!(table.contains("12 routers, 2 with a measurement server, 32 links, "), "{table}");
    assert!(table.contains("\nalready ") && !table.contains("cost"), "{table}");

    let measured = testdata("net/ladder-slow.csv");
    let refused = |arguments: &[&str], code, words| assert_refused(&[&["net"], arguments].concat(), code, &[words]);
    refused(&["plan", map, "--seed", "3"], 2, "--seed requires --strategy random or --plot");
    refused(&["paths", &ladder, "--servers", "a1,a1"], 2, "--servers a1,a1: expected at least two routers");
    refused(&["plan", &ladder, "--servers", "a1,x"], 2, "--servers x: no router of this name");
    let localize = ["localize", map, "--measurements", &measured, "--path", "a1,b2"];
    refused(&localize, 2, "--path a1,b2: no measurement server at b2");
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
    let drawing = folder.path().join("map.svg");
    let drawn = |run: crate::run::Run| {
        run.ok();
        std::fs::read_to_string(&drawing).unwrap()
    };
    let plain = drawn(dwell(&["net", "paths", &map, "--instrumented", "b3", "--plot", &to(&drawing)]));
    assert!(plain.contains("\nb3\n") && !plain.contains("delay per link"));
    let measured = testdata("net/ladder-slow.csv");
    let coloured = drawn(localize(&["--measurements", &measured, "--plot", &to(&drawing)]));
    // One link slower than usual, and its entry in the legend.
    assert_eq!(coloured.matches("stroke=\"#D55E00\"").count(), 2, "{coloured}");
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
    let loops = write("loops", b"a a 1\nb b 1\n");
    let large: String = (0..20_000).map(|at| format!("r{at} r{} 1\n", (at + 1) % 20_000)).collect();
    let large = write("large", large.as_bytes());
    let costs = write("costs", b"router,cost\nb1,none\n");
    let twice = write("twice", b"router,cost\nb1,2\nb1,7\n");
    let headless = write("headless", b"b1,9\nb2,9\n");
    let unknown = write("unknown", b"cost,router\n9,b1\n9,b99\n");
    let absent = folder.path().join("absent");
    let cases = [
        (vec!["net", "plan", &negative], 1, "line 2"),
        (vec!["net", "plan", &binary], 1, "not a text file"),
        (vec!["net", "plan", &empty], 1, "no links"),
        (vec!["net", "plan", &loops], 1, "loops: no links other than from a router to itself"),
        // One path per pair would not help.
        (vec!["net", "plan", &large], 1, "large: all paths together have more than 268435456 routers\n"),
        (vec!["net", "plan", absent.to_str().unwrap()], 1, "absent"),
        (vec!["net", "plan", &map, "--costs", &costs], 1, "line 2"),
        (vec!["net", "plan", &map, "--costs", &twice], 1, "line 3: the cost of 'b1' a second time"),
        (vec!["net", "plan", &map, "--costs", &headless], 1, "expected the columns router,cost, found 'b1,9'"),
        (vec!["net", "plan", &map, "--costs", &unknown], 1, "line 3: the map has no router 'b99'"),
        (vec!["net", "paths", &map, "--instrumented", "b9"], 2, "b9"),
        (vec!["net", "plan", &map, "--budget", "-3"], 2, "cost above 0"),
        (vec!["net", "plan", &map, "-o", &map], 2, "is an input"),
        (vec!["net", "grow", &map], 2, "grow"),
    ];
    for (arguments, code, words) in cases {
        assert_refused(&arguments, code, &[words]);
    }
}

fn localize(arguments: &[&str]) -> crate::run::Run {
    dwell(&[&["net", "localize", &testdata("net/ladder.toml"), "--routers", "12"], arguments].concat())
}

/// From b3 to b4, packets take four standard deviations longer in the last four seconds.
#[test]
fn the_slow_link_is_named() {
    let measured = testdata("net/ladder-slow.csv");
    let report = localize(&["--measurements", &measured, "--format", "json"]).ok().json();
    assert_eq!(report["schema"], "dwell.net-localize/1");
    let segments = report["segments"].as_array().unwrap();
    assert_eq!(segments.len(), 32);
    let first = &segments[0];
    assert_eq!((&first["from"], &first["to"], &first["delay"]["alarm"]), (&"b3".into(), &"b4".into(), &true.into()));
    assert_eq!(segments.iter().filter(|line| line["delay"]["alarm"] == true).count(), 1);
    let probabilities: Vec<f64> = segments.iter().map(|line| line["probability"].as_f64().unwrap()).collect();
    assert!(probabilities[0] > 0.9 && (probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{probabilities:?}");
    assert!(probabilities.is_sorted_by(|a, b| a >= b));
    let change = &report["changes"][0];
    assert_eq!((&change["from"], &change["kind"]), (&"b3".into(), &"delay".into()));
    assert_eq!(change["since_ns"], report["intervals"]["last_ns"].as_i64().unwrap() - 3_000_000_000);
    assert_eq!(report["slow_paths"], report["path_lines"].as_array().unwrap().len());

    let before = localize(&["--measurements", &measured, "--path", "a1,b6", "--format", "json"]).ok().json();
    let path = &before["path_lines"][0];
    assert_eq!((&before["judged_paths"], &path["hops"], &path["from"]), (&1.into(), &6.into(), &"a1".into()));
    let suspects = path["suspects"].as_array().unwrap();
    assert_eq!((suspects.len(), &suspects[0]["from"]), (6, &"b3".into()));
    let sum: f64 = suspects.iter().map(|suspect| suspect["excess_ns"].as_f64().unwrap()).sum();
    assert!((sum - path["delay"]["excess_ns"].as_f64().unwrap()).abs() < 1e-3, "parts add up");
    let delay = &path["delay_ns"];
    assert!(delay["low"].as_f64() < delay["value"].as_f64() && delay["value"].as_f64() < delay["high"].as_f64());

    let table = String::from_utf8(localize(&["--measurements", &measured]).ok().out).unwrap();
    assert!(table.contains("b3 → b4 *"), "{table}");
    let rows = localize(&["--measurements", &measured, "--format", "csv"]).ok().out;
    let mut reader = csv::Reader::from_reader(&rows[..]);
    let kinds: Vec<String> = reader.records().map(|record| record.unwrap()[0].to_owned()).collect();
    assert_eq!(kinds.iter().filter(|&kind| kind == "segment").count(), 32);
}

/// The output of `dwell owd` gives the same result for a segment in each of its formats.
#[test]
fn one_way_delays_are_taken_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let captures = ["one-way/near.pcap.xz", "one-way/server.pcap.xz"].map(testdata);
    let reports = ["json", "jsonl", "csv"].map(|format| {
        let file = folder.path().join(format);
        let file = file.to_str().unwrap();
        let how = ["--from", "10.10.0.0/16,fd00:10::/32", "--interval", "2s", "--format", format, "-o", file];
        dwell(&[&["owd", &captures[0], &captures[1]], &how[..]].concat());
        let measured = format!("b1,b2={file}");
        let run = localize(&["--measurements", &measured, "--path", "b1,b2", "--baseline", "10", "--format", "json"]);
        assert_eq!(run.code, 0, "{}", run.err);
        run.json()
    });
    assert_eq!((&reports[0], &reports[0]), (&reports[1], &reports[2]));
    let [ref report, ..] = reports;
    assert_eq!((report["segments"].as_array().unwrap().len(), &report["intervals"]["count"]), (1, &32.into()));
    let usual = report["segments"][0]["delay"]["usual_ns"].as_f64().unwrap();
    assert!((1e6..1e8).contains(&usual), "{usual}");
    // The first upload fills the queue within the baseline, so nothing exceeds what is usual.
    assert_eq!(report["segments"][0]["delay"]["alarm"], false);
}

#[test]
fn what_is_not_measured_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("part.csv");
    let all = std::fs::read_to_string(testdata("net/ladder-slow.csv")).unwrap();
    let lines = all.lines().filter(|line| !line.starts_with("b3,b4"));
    std::fs::write(&part, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let run = localize(&["--measurements", part.to_str().unwrap(), "--path", "b3,b5", "--format", "json"]);
    assert!(run.err.contains("segments whose delay is known in too few intervals or none: 1"), "{}", run.err);
    let report = run.json();
    let path = &report["path_lines"][0];
    assert_eq!((&path["missing"][0]["to"], &path["delay"]), (&"b4".into(), &serde_json::Value::Null));
    assert_eq!((&report["incomplete_paths"], &path["suspects"].as_array().unwrap().len()), (&1.into(), &1));
}

/// From b3 to b4, everything is lost in the last four seconds: the table names the segment and the plot marks it,
/// although its delay is unknown.
#[test]
fn a_dead_link_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let [dead, plot] = ["dead.csv", "net.svg"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let all = std::fs::read_to_string(testdata("net/ladder-slow.csv")).unwrap();
    let lost = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let is_dead = line.starts_with("b3,b4") && fields[3] >= "1795338020000000000";
        if is_dead { format!("b3,b4,,{},0,700,0,,\n", fields[3]) } else { format!("{line}\n") }
    };
    std::fs::write(&dead, all.lines().map(lost).collect::<String>()).unwrap();
    let table = String::from_utf8(localize(&["--measurements", &dead, "--plot", &plot]).out).unwrap();
    let named =
        |head: &str| table.split(head).nth(1).is_some_and(|rest| rest.lines().nth(1).unwrap().contains("b3 → b4"));
    assert!(named("lossier") && named("delay unknown") && table.contains("24 of 24 intervals"), "{table}");
    assert!(table.contains("b3 → b4 *"), "{table}");
    let marked = std::fs::read_to_string(&plot).unwrap().matches("#D55E00").count();
    assert_eq!(marked, 2, "the link, and the legend");
}

#[test]
fn wrong_measurements_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let head = "from,to,via,start_ns,received,lost,effective_samples,mean_ns,std_ns\n";
    let measured = testdata("net/ladder-slow.csv");
    let stranger = write("stranger.csv", &format!("{head}a1,a2,,1,2,0,2,5,1\na1,b2,,1,2,0,2,5,1\n"));
    let word = write("word.csv", &format!("{head}a1,a2,,1,2,0,2,long,1\n"));
    let named = format!("dwell: {word}: line 2: expected nanoseconds as mean_ns, found 'long'\n");
    let many = write("many.csv", &format!("{head}a1,a2,,1,2,0,3,5,1\n"));
    let double = write("double.csv", &format!("{}a1,a2,,1,2,0,2,5,1,5\n", head.replace('\n', ",mean_ns\n")));
    let open = write("open.csv", &format!("{head}a1,a2,,1,2,0,2,5,\"1\n"));
    let damaged = write("damaged.json", "{\"schema\": \"dwell.owd/1\",\n\"intervals\": [}");
    let twice = write("twice.csv", &format!("{head}a1,a2,,1,2,0,2,5,1\na1,a2,,1,2,0,2,5,1\n"));
    let elsewhere = write("elsewhere.csv", &format!("{head}a1,a2,,2,2,0,2,5,1\na1,a2,,1,2,0,2,5,1\n"));
    let once = write("once.csv", &format!("{head}a1,a2,,1000000000,2,0,2,5,1\n"));
    let again = format!("{head}a2,a1,,3100000000,2,0,2,5,1\na1,a2,,1500000000,2,0,2,5,1\n").replace('\n', "\r\n");
    let again = write("again.csv", &again);
    // One router's clock is 137 ns fast.
    let shifted = std::fs::read_to_string(&measured).unwrap();
    let shifted = shifted.lines().map(|line| match line.strip_prefix("a1,a2,,") {
        Some(rest) => {
            let (start, rest) = rest.split_once(',').unwrap();
            format!("a1,a2,,{},{rest}\n", start.parse::<i64>().unwrap() + 137)
        }
        None => format!("{line}\n"),
    });
    let shifted = write("shifted.csv", &shifted.collect::<String>());
    let [crossed, bent, unknown] = ["a1,b2", "a1,b1,b2", "a1,x"].map(|segment| format!("{segment}={measured}"));
    let cases = [
        (vec!["--measurements", &stranger], 1, "line 3: 'a1' to 'b2' is not a segment"),
        (vec!["--measurements", &word], 1, &named),
        (vec!["--measurements", &many], 1, "many.csv: line 2: expected at most 2 effective_samples"),
        (vec!["--measurements", &double], 1, "double.csv: line 1: expected each column once, found 'mean_ns' twice\n"),
        (vec!["--measurements", &open], 1, "open.csv: line 2: expected a closing quotation mark in the line\n"),
        (vec!["--measurements", &damaged], 1, "damaged.json: line 2: expected dwell.owd/1 in JSON"),
        (
            vec!["--measurements", &twice],
            1,
            "twice.csv: line 3: 'a1' to 'a2' has two measurements of the interval at 1970-01-01 00:00:00.000000001 UTC, \
             the other is in line 2",
        ),
        (
            vec!["--measurements", &once, "--measurements", &again, "--interval", "1s"],
            1,
            "again.csv: line 3: 'a1' to 'a2' has two measurements of the interval at 1970-01-01 00:00:01.500 UTC, the other is in ",
        ),
        (vec!["--measurements", &elsewhere, "--measurements", &twice], 1, "elsewhere.csv: line 3\n"),
        (
            vec!["--measurements", &shifted],
            1,
            "begin at 2026-11-22 09:00:00 UTC and 137 ns later; align them with --interval 1s",
        ),
        (vec!["--measurements", &measured, "--baseline", "24"], 1, "--baseline"),
        (vec!["--measurements", "absent.csv"], 1, "absent.csv"),
        (vec!["--measurements", &measured, "--baseline", "2"], 2, "from 3"),
        (vec!["--measurements", &measured, "--false-alarms", "0"], 2, "above 0"),
        (vec!["--measurements", &measured, "--path", "a1"], 2, "two routers"),
        (vec!["--measurements", &measured, "--path", "a1,c1"], 2, "c1"),
        (vec!["--measurements", &measured, "--path", "a1,a1"], 2, "no path"),
        (vec!["--measurements", &crossed], 2, "not a segment"),
        (vec!["--measurements", &bent], 2, "not a segment"),
        (vec!["--measurements", &unknown], 2, "x"),
        (vec!["--measurements", &measured, "-o", &measured], 2, "is an input"),
        (vec![], 2, "--measurements"),
    ];
    for (arguments, code, words) in cases {
        assert_refusal(&localize(&arguments), &arguments, code, &[words]);
    }
}

#[test]
fn arrows_that_mean_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let map = folder.path().join("map");
    std::fs::write(&map, "a b 1\nc b 1\nc d 1\n").unwrap();
    let map = map.to_str().unwrap();
    let run = dwell(&["net", "paths", map, "--format", "json"]);
    assert!(run.err.contains("3 links are one-way (--both-ways)"), "{}", run.err);
    let both = dwell(&["net", "paths", map, "--both-ways", "--format", "json"]).ok().json();
    assert_eq!((&both["paths"], &both["links"], &both["unreachable_pairs"]), (&12.into(), &6.into(), &0.into()));
}

#[test]
fn one_link_is_not_called_links() {
    let folder = tempfile::tempdir().unwrap();
    let map = folder.path().join("map");
    std::fs::write(&map, "a b 1\nb a 1\na a 1\na b 2\nb c 1\nc b 1\nc a 1\n").unwrap();
    let run = dwell(&["net", "paths", map.to_str().unwrap(), "--failed", "a,c", "--format", "csv"]);
    let warnings =
        ["ignored: 1 parallel link, only that of least weight is used", "ignored: 1 link from a router to itself"];
    assert_eq!(run.err, warnings.map(|words| format!("dwell: warning: {words}\n")).concat());
}

/// Names of routers may contain the comma that separates names.
#[test]
fn names_with_commas() {
    let folder = tempfile::tempdir().unwrap();
    let map = folder.path().join("map");
    std::fs::write(&map, "San+Jose,+CA Anaheim,+CA 1\nAnaheim,+CA San+Jose,+CA 1\nAnaheim,+CA x 1\nx Anaheim,+CA 1\n")
        .unwrap();
    let map = map.to_str().unwrap();
    let run = dwell(&["net", "paths", map, "--instrumented", "Anaheim,+CA,x", "--format", "json"]).ok();
    assert_eq!(run.json()["instrumented"], serde_json::json!(["Anaheim,+CA", "x"]));
}

/// Maps and measurements may be compressed, and one file may be standard input.
#[test]
fn inputs_may_be_compressed_or_piped() {
    let folder = tempfile::tempdir().unwrap();
    let [map, measured] = ["net/ladder.toml", "net/ladder-slow.csv"].map(testdata);
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let packed = |path: &str| zstd::bulk::compress(&std::fs::read(path).unwrap(), 3).unwrap();
    let [map_zst, measured_zst] =
        [("map", &map), ("measured", &measured)].map(|(name, path)| write(name, &packed(path)));
    let piped = |arguments: &[&str], from: &str| {
        let mut command = command(&[&["net"], arguments, &["--format", "json"]].concat());
        command.stdin(std::fs::File::open(from).unwrap());
        finish(command)
    };
    let probes = |map: &str, from: &str| piped(&["paths", map, "--routers", "2"], from).ok().json()["probes"].clone();
    let segments = |map: &str, measured: &str, from: &str| {
        piped(&["localize", map, "--routers", "12", "--measurements", measured], from).ok().json()["segments"].clone()
    };
    for (name, from) in [(map_zst.as_str(), "/dev/null"), ("-", &map), ("-", &map_zst)] {
        assert_eq!(probes(name, from), probes(&map, "/dev/null"), "{name} {from}");
        assert_eq!(segments(name, &measured, from), segments(&map, &measured, "/dev/null"), "{name} {from}");
    }
    for (name, from) in [(measured_zst.as_str(), "/dev/null"), ("-", &measured), ("-", &measured_zst)] {
        assert_eq!(segments(&map, name, from), segments(&map, &measured, "/dev/null"), "{name} {from}");
    }

    let half = |path: &str| {
        let whole = packed(path);
        whole[..whole.len() / 2].to_vec()
    };
    let [map_cut, measured_cut] = [("map-cut", &map), ("cut", &measured)].map(|(name, path)| write(name, &half(path)));
    let folder = folder.path().to_str().unwrap();
    for (arguments, code, words) in [
        (vec!["paths", &map_cut], 1, "map-cut: the zstd data is truncated\n"),
        (vec!["localize", &map, "--measurements", &measured_cut], 1, "cut: the zstd data is truncated\n"),
        (vec!["paths", folder], 1, "irectory"),
        (vec!["localize", &map, "--measurements", folder], 1, "irectory"),
        (vec!["paths", "/dev/zero"], 1, "/dev/zero: expected the map of a network, at most 256 MiB"),
        (vec!["localize", "-", "--measurements", "-"], 2, "only one of the inputs can be standard input"),
        (vec!["plan", "-", "--costs", "-"], 2, "only one of the inputs can be standard input"),
    ] {
        assert_refusal(&piped(&arguments, "/dev/null"), &arguments, code, &[words]);
    }
}

/// Every available map can be read, and planned for within seconds.
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

/// Every segment of two routers is one link, so the axis has fractions of a hop.
#[test]
fn labels_of_hops_have_no_more_digits_than_they_need() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("two.toml"), "[[link]]\nfrom = \"a\"\nto = \"b\"\n").unwrap();
    crate::run::dwell_in(folder.path(), &["net", "plan", "two.toml", "--routers", "2", "--plot", "plan.svg"]).ok();
    let picture = std::fs::read_to_string(folder.path().join("plan.svg")).unwrap();
    for label in ["0.2", "0.4", "0.6", "0.8"] {
        assert!(picture.lines().any(|line| line.trim() == label), "no {label}");
    }
}

/// With `--interval`, segments measured a little apart are judged as if measured together.
#[test]
fn intervals_are_aligned_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let measured = std::fs::read_to_string(testdata("net/ladder-slow.csv")).unwrap();
    let mut lines = csv::Reader::from_reader(measured.as_bytes());
    let mut shifted = csv::Writer::from_path(folder.path().join("shifted.csv")).unwrap();
    shifted.write_record(lines.headers().unwrap()).unwrap();
    for line in lines.records().map(Result::unwrap) {
        let ahead = if line[0].starts_with('a') { 137 } else { 0 };
        let start = (line[3].parse::<i64>().unwrap() + ahead).to_string();
        shifted
            .write_record(line.iter().enumerate().map(|(column, field)| if column == 3 { &start } else { field }))
            .unwrap();
    }
    shifted.flush().unwrap();
    let shifted = folder.path().join("shifted.csv");
    let shifted = shifted.to_str().unwrap();
    let refused = localize(&["--measurements", shifted]);
    assert!(refused.code == 1 && refused.err.contains("align them with --interval 1s"), "{}", refused.err);
    let aligned = localize(&["--measurements", shifted, "--interval", "1s"]).ok();
    assert_eq!(aligned.out, localize(&["--measurements", &testdata("net/ladder-slow.csv")]).ok().out);
}

/// A PNG has no letters for some names, and a warning says so; an SVG has them all.
#[test]
fn names_that_a_picture_cannot_show_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let map = folder.path().join("map.toml");
    std::fs::write(&map, "[[link]]\nfrom = \"東京\"\nto = \"Wien\"\n[[link]]\nfrom = \"Wien\"\nto = \"Köln\"\n")
        .unwrap();
    let drawn = |name: &str| {
        let plot = folder.path().join(name);
        let run = dwell(&["net", "paths", map.to_str().unwrap(), "--plot", plot.to_str().unwrap()]);
        assert_eq!(run.code, 0);
        run.err
    };
    let told = drawn("map.png");
    assert!(told.contains("drawn as ?: 1; a .svg file shows them") && told.lines().count() == 1, "{told}");
    assert_eq!(drawn("map.svg"), "");
    assert!(std::fs::read_to_string(folder.path().join("map.svg")).unwrap().contains("東京"));
}

/// The same of the groups in a plot of response times.
#[test]
fn groups_that_a_picture_cannot_show_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let lines = ["東京", "Wien", "大阪"].map(|group| format!("1,request,a,{group}\n2,response,a,{group}\n"));
    std::fs::write(folder.path().join("log.csv"), format!("at_ns,kind,id,group\n{}", lines.concat())).unwrap();
    for (plot, told) in [("a.png", 1), ("a.svg", 0)] {
        let run = dwell_in(folder.path(), &["rtt", "--events", "log.csv", "--plot", plot]);
        let words = run.err.lines().filter(|line| line.contains("drawn as ?: 2; a .svg file shows them"));
        assert_eq!((run.code, words.count()), (0, told), "{}", run.err);
    }
}
