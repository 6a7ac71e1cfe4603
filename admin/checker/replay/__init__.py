"""What nodes say that they did, replayed step by step: is each step one that the rules allow?"""
