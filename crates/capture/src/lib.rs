//! Frames in: pcap and pcapng files, plain or compressed.
