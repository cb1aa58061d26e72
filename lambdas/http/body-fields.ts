import type * as v from 'valibot'
import { JsonReader } from './json-reader.ts'
import { codeOf, quoted, RequestError } from './request-error.ts'

/** Which values stay text: to this service, an item is its text. */
export type RawFields = {
  /** Fields whose values stay text. */
  readonly raw: ReadonlySet<string>
  /** Fields that hold lists of objects with such fields, and how many of those at most. */
  readonly lists?: Readonly<Record<string, { readonly of: RawFields; readonly max: number }>>
  /** Fields that hold one such object. */
  readonly objects?: Readonly<Record<string, RawFields>>
}

export type Fields = Record<string, unknown>

/** An object's fields by name, each once; `raw` ones as text, all others as parsed values. */
export function readBody(text: string, rawFields: RawFields): Fields {
  const reader = new JsonReader(text)
  if (reader.peek() === '\ufeff') {
    throw new RequestError('INVALID_JSON', 'The body begins with a byte order mark; leave it out')
  }
  if (reader.peek() !== '{') {
    reader.value()
    throw new RequestError('INVALID_JSON', 'The body must be a JSON object')
  }
  const fields = readFields(reader, rawFields, '')
  reader.end()
  return fields
}

function readFields(reader: JsonReader, rawFields: RawFields, path: string): Fields {
  const { raw, lists, objects } = rawFields
  // Without a prototype: `__proto__` is a name like any other here.
  const fields: Fields = Object.create(null)
  reader.fields((name) => {
    if (name in fields) throw givenTwice(path, name)
    const list = lists !== undefined && Object.hasOwn(lists, name) ? lists[name] : undefined
    const object = objects !== undefined && Object.hasOwn(objects, name) ? objects[name] : undefined
    if (list !== undefined && reader.peek() === '[') {
      fields[name] = readList(reader, name, list)
    } else if (object !== undefined && reader.peek() === '{') {
      fields[name] = readFields(reader, object, `${path}${name}.`)
    } else {
      const value = reader.value()
      fields[name] = raw.has(name) ? value : JSON.parse(value)
    }
  })
  return fields
}

function readList(
  reader: JsonReader,
  name: string,
  { of, max }: { readonly of: RawFields; readonly max: number },
): unknown[] {
  const list: unknown[] = []
  reader.elements((index) => {
    // Check here, and not once all are read: a body of 2.5 MiB can hold a million tiny elements.
    if (index === max) {
      throw new RequestError(codeOf(name), `${name} holds more than ${max} elements`, {
        field: name,
      })
    }
    const isObject = reader.peek() === '{'
    list.push(isObject ? readFields(reader, of, `${name}[${index}].`) : JSON.parse(reader.value()))
  })
  return list
}

function givenTwice(path: string, name: string): RequestError {
  const field = path + name.slice(0, 64)
  return new RequestError('INVALID_PARAMETER', `${quoted(path + name)} is given twice`, {
    field,
  })
}

export type ObjectSchema = v.StrictObjectSchema<v.ObjectEntries, string>
