fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    println!("{:?} {:?} {:?}", arguments, std::env::var("A"), std::env::current_dir());
}
