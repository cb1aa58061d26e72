/** An entry of TransactWriteItems in document client form. */
export type TransactItem = {
  readonly Update: {
    readonly TableName: string
    readonly Key: Record<string, unknown>
    readonly UpdateExpression: string
    readonly ConditionExpression: string
    readonly ExpressionAttributeNames: Record<string, string>
    readonly ExpressionAttributeValues: Record<string, unknown>
    readonly ReturnValuesOnConditionCheckFailure: 'ALL_OLD'
  }
}
