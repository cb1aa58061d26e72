type Known<K, V> = { get(key: K): V | undefined; set(key: K, value: V): unknown }

/** What is known by this key, made when it is asked for first. */
export function getOrMake<K, V>(known: Known<K, V>, key: K, make: () => V): V {
  const value = known.get(key) ?? make()
  known.set(key, value)
  return value
}
