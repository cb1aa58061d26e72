// The wire spells names in snake_case, our code in camelCase; only this file converts between the two. The client
// bundles it too, so it imports nothing. Never convert items: their contents belong to the caller.

export type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${SnakeCase<Rest>}`
    : `_${Lowercase<First>}${SnakeCase<Rest>}`
  : Name

export type CamelCase<Name> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name

export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The same value with its fields renamed, on every level. */
type SnakeCased<T> = T extends readonly (infer E)[]
  ? readonly SnakeCased<E>[]
  : T extends object
    ? { readonly [Name in keyof T as SnakeCase<Name>]: SnakeCased<T[Name]> }
    : T

export type CamelCased<T> = T extends readonly (infer E)[]
  ? readonly CamelCased<E>[]
  : T extends object
    ? { readonly [Name in keyof T as CamelCase<Name>]: CamelCased<T[Name]> }
    : T

export const snakeCased = <T>(value: T): SnakeCased<T> => renamed(value, snakeCase)
export const camelCased = <T>(value: T): CamelCased<T> => renamed(value, camelCase)

function renamed<R>(value: unknown, rename: (name: string) => string): R {
  if (typeof value !== 'object' || value === null) return value as R
  if (Array.isArray(value)) return value.map((one) => renamed(one, rename)) as R
  const fields = Object.entries(value).map(([name, field]) => [
    rename(name),
    renamed(field, rename),
  ])
  return Object.fromEntries(fields) as R
}
