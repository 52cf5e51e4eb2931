// expect: conversion from .*KvHead.* to non-scalar type .*Head.* requested
// Keys have key and value heads, whatever their number.
#include "tensor/tensor.h"

using namespace maglio;

void mistake(Tensor<float, Seq, KeyValue> k) {
#ifdef CORRECTED
  const Tensor<float, Seq, KvHead, Dim> heads = split(k, 64);
#else
  const Tensor<float, Seq, Head, Dim> heads = split(k, 64);
#endif
  (void)heads;
}
