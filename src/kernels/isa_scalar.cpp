// The scalar unit: the specification of every kernel.
