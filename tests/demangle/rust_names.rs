// SPDX-License-Identifier: MIT
// For tests/demangle/demangle.sh: whatever the v0 mangling has a letter for. Only its names are looked at.
use std::collections::*;
use std::fmt::Debug;
pub struct G<const N: usize, const B: bool, const C: char, const I: i64>;
impl<const N: usize, const B: bool, const C: char, const I: i64> G<N,B,C,I> { #[inline(never)] pub fn show(&self) -> usize { N + B as usize + C as usize + I as usize } }
trait T1 { fn go(&self) -> u32 where Self: Sized { 1 } fn assoc() -> u32; }
impl<'a> T1 for &'a str { #[inline(never)] fn assoc() -> u32 { 3 } }
impl<T: Debug> T1 for Vec<T> { #[inline(never)] fn assoc() -> u32 { 4 } }
impl T1 for dyn Fn(&u8, &mut [i32]) -> Option<Box<dyn Debug + Send>> { fn assoc() -> u32 { 5 } }
impl T1 for (u8, i128, [u16; 3], *const f32, *mut f64, fn(u8) -> !, unsafe extern "C" fn(i32, ...) , extern "system" fn()) { fn assoc() -> u32 { 6 } }
#[inline(never)] fn gen<T: ?Sized, F: Fn() -> u32>(f: F) -> u32 { let g = || f() + std::mem::size_of::<&T>() as u32; std::hint::black_box(g()) }
mod größe { #[inline(never)] pub fn straße() -> u32 { std::hint::black_box(7) } pub mod 日本 { #[inline(never)] pub fn 関数<T>() -> u32 { std::hint::black_box(8) } } }
#[inline(never)] fn hr(f: &dyn for<'a, 'b> Fn(&'a u8, &'b u8) -> &'a u8) -> u8 { *f(&1,&2) }
#[inline(never)] fn gg<T>() -> u32 { std::hint::black_box(std::mem::size_of::<T>() as u32) }
fn main() {
  let mut x = 0;
  x += G::<3,true,'\'',-5>.show(); x += G::<0,false,'é',0>.show(); x += G::<18446744073709551615,false,'\n',{i64::MIN}>.show(); x += G::<255,false,'𝄞',127>.show();
  let mut s = <&str as T1>::assoc() + Vec::<HashMap<String, BTreeMap<u8, Option<Box<dyn Debug>>>>>::assoc();
  s += <dyn Fn(&u8, &mut [i32]) -> Option<Box<dyn Debug + Send>> as T1>::assoc();
  s += <(u8, i128, [u16; 3], *const f32, *mut f64, fn(u8) -> !, unsafe extern "C" fn(i32, ...), extern "system" fn()) as T1>::assoc();
  s += gen::<str, _>(|| 3) + gen::<[u8], _>(|| 4) + gen::<dyn Iterator<Item = u8>, _>(|| größe::straße()) + größe::日本::関数::<größe_t>();
  s += gg::<for<'a> fn(&'a u8, &'a str) -> &'a [u8]>() + gg::<dyn_t<'static>>() + gg::<(u8,)>() + gg::<()>() + gg::<[[u8;4];2]>() + gg::<Box<dyn for<'a> Fn(&'a u8) -> Box<dyn for<'b> Fn(&'a u8, &'b u8)>>>() + gg::<&'static mut Option<&'static str>>();
  let mut v: Vec<(u8, String)> = vec![(3, "a".into()), (1, "b".into())]; v.sort_by(|a, b| b.0.cmp(&a.0)); v.iter().map(|x| x.1.len()).filter(|n| n % 2 == 0).collect::<HashSet<_>>();
  println!("{} {} {} {:?}", x, s, hr(&|a, _b| a), v);
  std::thread::spawn(move || { println!("{:?}", v.into_iter().rev().collect::<VecDeque<_>>()) }).join().unwrap();
}
#[allow(non_camel_case_types)] struct größe_t;
#[allow(non_camel_case_types)] struct dyn_t<'a>(&'a u8);
