// Stands in for `@aws-sdk/lib-dynamodb` in the bundles of the service's own functions, whose client is the lean
// one (aws/lean-client.ts): it reads a command's class and input, and nothing else of it. The SDK's
// commands bring the SDK's client along, which would be three quarters of a cold start.

class Command {
  readonly input: object

  constructor(input: object) {
    this.input = input
  }
}

export class BatchGetCommand extends Command {}
export class BatchWriteCommand extends Command {}
export class DeleteCommand extends Command {}
export class GetCommand extends Command {}
export class PutCommand extends Command {}
export class QueryCommand extends Command {}
export class TransactWriteCommand extends Command {}
export class UpdateCommand extends Command {}

export const DynamoDBDocumentClient = {
  from(): never {
    throw new Error('Cannot use a client of the SDK because this function has none of its commands')
  },
}
