import type { ConsumedCapacity, ReturnConsumedCapacity } from '@aws-sdk/client-dynamodb'

/** What a request costs, in DynamoDB's units. */

const writeUnitBytes = 1024
const readUnitBytes = 4096

export function writeUnits(oldSize: number, newSize: number): number {
  return Math.max(1, Math.ceil(Math.max(oldSize, newSize) / writeUnitBytes))
}

export function readUnits(bytes: number, consistent: boolean): number {
  return Math.max(1, Math.ceil(bytes / readUnitBytes)) * (consistent ? 1 : 0.5)
}

export interface Charge {
  readonly table: number
  readonly indexes: ReadonlyMap<string, number>
}

export const noIndexes: ReadonlyMap<string, number> = new Map()

export function totalUnits(charge: Charge): number {
  let total = charge.table
  for (const units of charge.indexes.values()) total += units
  return total
}

export function addCharges(charges: readonly Charge[]): Charge {
  let table = 0
  const indexes = new Map<string, number>()
  for (const charge of charges) {
    table += charge.table
    for (const [name, units] of charge.indexes) indexes.set(name, (indexes.get(name) ?? 0) + units)
  }
  return { table, indexes }
}

export function consumedCapacity(
  tableName: string,
  charge: Charge,
  wanted: ReturnConsumedCapacity | undefined,
): ConsumedCapacity | undefined {
  if (wanted === undefined || wanted === 'NONE') return undefined
  const total = { TableName: tableName, CapacityUnits: totalUnits(charge) }
  if (wanted === 'TOTAL') return total
  const table = { CapacityUnits: charge.table }
  if (charge.indexes.size === 0) return { ...total, Table: table }
  const indexes: Record<string, { CapacityUnits: number }> = {}
  for (const [name, units] of charge.indexes) indexes[name] = { CapacityUnits: units }
  return { ...total, Table: table, GlobalSecondaryIndexes: indexes }
}
