// The client bundles this file too, so it imports nothing.

type Present<T> = { readonly [N in keyof T as undefined extends T[N] ? never : N]: T[N] } & {
  readonly [N in keyof T as undefined extends T[N] ? N : never]?: Exclude<T[N], undefined>
}

/** Leaves out fields that are `undefined`, as `JSON.stringify` does. */
export function present<T extends object>(fields: T): Present<T> {
  const there: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) there[name] = value
  return there as Present<T>
}
