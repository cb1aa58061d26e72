// The commands that the engine sends, as requests of DynamoDB's protocol: which parts of each are attributes.

import { randomUUID } from 'node:crypto'
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { fromAttributes, toAttributes } from './attribute-values.ts'

/** The attributes of an item; the same for each member of a list or map; or for some fields of an object. */
type Shape = 'attributes' | { readonly each: Shape } | { readonly fields: Fields }
type Fields = Readonly<Record<string, Shape>>

export type Operation = {
  /** In the header that names the operation. */
  readonly name: string
  readonly input: Fields
  readonly output: Fields
}

const attributes = 'attributes'
const each = (shape: Shape): Shape => ({ each: shape })
const fields = (shape: Fields): Shape => ({ fields: shape })

const values = { ExpressionAttributeValues: attributes } as const
const put = { Item: attributes, ...values } as const
const update = { Key: attributes, ...values } as const
const remove = update
const reads = each(fields({ Keys: each(attributes) }))
const writes = each(
  each(
    fields({
      PutRequest: fields({ Item: attributes }),
      DeleteRequest: fields({ Key: attributes }),
    }),
  ),
)
const entry = fields({
  Put: fields(put),
  Update: fields(update),
  Delete: fields(remove),
  ConditionCheck: fields(update),
})

/** By class, because names of classes do not survive bundling. */
const operations = new Map<unknown, Operation>([
  [GetCommand, { name: 'GetItem', input: { Key: attributes }, output: { Item: attributes } }],
  [PutCommand, { name: 'PutItem', input: put, output: { Attributes: attributes } }],
  [UpdateCommand, { name: 'UpdateItem', input: update, output: { Attributes: attributes } }],
  [DeleteCommand, { name: 'DeleteItem', input: remove, output: { Attributes: attributes } }],
  [
    QueryCommand,
    {
      name: 'Query',
      input: { ...values, ExclusiveStartKey: attributes },
      output: { Items: each(attributes), LastEvaluatedKey: attributes },
    },
  ],
  [
    BatchGetCommand,
    {
      name: 'BatchGetItem',
      input: { RequestItems: reads },
      output: { Responses: each(each(attributes)), UnprocessedKeys: reads },
    },
  ],
  [
    BatchWriteCommand,
    {
      name: 'BatchWriteItem',
      input: { RequestItems: writes },
      output: { UnprocessedItems: writes },
    },
  ],
  [
    TransactWriteCommand,
    { name: 'TransactWriteItems', input: { TransactItems: each(entry) }, output: {} },
  ],
])

export function operationOf(command: object): Operation {
  const operation = operations.get(command.constructor)
  if (operation !== undefined) return operation
  throw new Error(
    `Cannot send a ${command.constructor.name}: the lean client takes the engine's own commands alone`,
  )
}

export function encode({ name, input: shape }: Operation, input: object): string {
  const body = convertFields(shape, input, toAttributes)
  // With a token, DynamoDB does not carry out a late copy of the request again.
  if (name === 'TransactWriteItems') body.ClientRequestToken ??= randomUUID()
  return JSON.stringify(body)
}

export const decode = ({ output }: Operation, body: object): Record<string, unknown> =>
  convertFields(output, body, fromAttributes)

type Convert = (item: object) => unknown

function convert(shape: Shape, value: unknown, leaf: Convert): unknown {
  if (shape === 'attributes') return leaf(value as object)
  if ('fields' in shape) return convertFields(shape.fields, value as object, leaf)
  if (Array.isArray(value)) return value.map((member) => convert(shape.each, member, leaf))
  return Object.fromEntries(
    Object.entries(value as object).map(([name, member]) => [
      name,
      convert(shape.each, member, leaf),
    ]),
  )
}

function convertFields(shape: Fields, value: object, leaf: Convert): Record<string, unknown> {
  const converted: Record<string, unknown> = { ...value }
  for (const name in shape) {
    const field = converted[name]
    if (field === undefined || field === null) continue
    converted[name] = convert(shape[name] as Shape, field, leaf)
  }
  return converted
}
